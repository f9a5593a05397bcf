"""Results for people: each function prints one section on a console."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from bife_core.evaluation.metrics import METRICS, method_table
from flows.cli.consoles import duration, full_name, number, plain_table, show_code, show_facts, show_heading
from flows.operate.servers import MLFLOW_PORT

if TYPE_CHECKING:
    from bife_core.config import PipelineConfig
    from bife_core.decisions.collecting import CollectionSummary
    from bife_core.scip.cost import Cost
    from bife_core.scip.solving import SolveResult
    from bife_core.search import Sample
    from flows.results import CollectionResult, EvaluationResult, EvolutionResult, PipelineResult, TrackedRun

_COSTS: dict[Cost, str] = {
    "time": "CPU seconds",
    "nodes": "nodes",
    "lp_iterations": "LP iterations",
    "gap": "final gap",
    "primal_dual_integral": "primal-dual integral",
}
_PROVEN = ("optimal", "infeasible", "unbounded", "inforunbd")


def show_collection(console: Console, result: CollectionResult) -> None:
    """Print what was recorded and where it is."""
    recorded = result.summary
    show_facts(
        console,
        [
            ("decisions", f"{recorded.decisions} with {recorded.candidates} candidates"),
            ("instances", str(len(recorded.instances))),
            ("ties", f"{recorded.tie_share:.0%} of the decisions have several best candidates"),
            ("file", str(recorded.path)),
        ],
    )
    show_tracked(console, result.run)


def show_rule(
    console: Console, best: Sample, config: PipelineConfig, decisions: CollectionSummary | None
) -> None:
    """Print a rule with its fidelities, in words."""
    parents = f" from {', '.join(best.parents)}" if best.parents else ""
    show_heading(console, f"The rule ({best.id} by {best.operator}{parents})")
    if best.thought:
        thought = Text(" ".join(best.thought.split()), style="italic")
        console.print(Padding(thought, (0, 0, 1, 2), expand=False))
    show_code(console, best.source or "")
    console.print()
    known = []
    if best.f_lf is not None and decisions is not None:
        known.append(
            (
                "F_LF",
                f"{best.f_lf:.3f}: takes a best candidate in {best.f_lf:.0%} of {decisions.decisions} decisions",
            )
        )
    if best.f_hf is not None:
        mean = f"{config.high.mean} mean of {_COSTS[config.high.cost]}"
        known.append(("F_HF", f"{number(best.f_hf)}: minus the {mean} over the design instances"))
    show_facts(console, known)


def show_evolution(console: Console, result: EvolutionResult) -> None:
    """Print what a search cost and where it can be looked at."""
    spent = result.spending
    rows = [
        ("samples", f"{result.samples}, of which {result.failures} gave no valid rule"),
        ("took", duration(result.seconds)),
        ("file", str(result.best_rule)),
    ]
    if spent.calls:
        price = "" if spent.cost_usd is None else f", ${spent.cost_usd:.4f}"
        tokens = spent.prompt_tokens + spent.completion_tokens
        rows.append(("model API", f"{spent.calls} calls, {tokens:,} tokens{price}"))
    show_heading(console, "The search")
    show_facts(console, rows)
    show_tracked(console, result.run, result.ranking_url)


def no_rule(result: EvolutionResult) -> str:
    """Return the sentence for a search without a rule."""
    early = f"{result.ended_by} " if result.ended_by else ""
    return (
        f"{early}None of the {result.samples} samples became a rule that solves the design instances "
        f"({result.failures} failed); samples.json in {result.directory} tells why for each."
    )


def show_comparison(console: Console, result: EvaluationResult) -> None:
    """Print all methods side by side on held-out models, the verdict, and the ratio with all that qualifies it."""
    compared = result.summary
    models = "model" if compared.instances == 1 else "models"
    show_heading(console, f"Against {full_name(compared.baseline)} on {compared.instances} held-out {models}")
    several = len(compared.settings) > 1
    first = ("models", "brancher") if several else ("brancher",)
    table = plain_table(*first, "solved", "CPU s", "nodes", "LP iterations", "in branching")
    entries = method_table(compared.frame(), compared.protocol.metric)
    for (setting, method), entry in zip(entries.index, entries.to_dict("records"), strict=True):
        table.add_row(
            *((setting,) if several else ()),
            full_name(method),
            f"{entry['solved']} of {entry['solves']}",
            *(number(entry[name]) for name in ("time", "nodes", "lp_iterations")),
            f"{entry['inference_share']:.1%}",
        )
    console.print(table)
    console.print("CPU s, nodes and LP iterations are geometric means over all solves", style="dim")
    console.print()
    interval = (
        "no interval"
        if compared.ci_low is None or compared.ci_high is None
        else f"{compared.confidence:.0%} interval {compared.ci_low:.3f} to {compared.ci_high:.3f}"
    )
    what = METRICS[compared.protocol.metric].words
    change = f"{abs(1.0 - compared.ratio):.0%} {'less' if compared.ratio < 1 else 'more'} {what}"
    even = compared.instances - compared.wins - compared.losses
    seeds = "1 seed" if len(compared.seeds) == 1 else f"{len(compared.seeds)} seeds"
    kind = "time" if compared.protocol.metric == "time" else what
    better, worse = ("faster", "slower") if kind == "time" else ("better", "worse")
    rows = [
        (f"{kind} ratio", f"{compared.ratio:.3f} ({interval}): the rule takes {change}"),
        ("node ratio", f"{compared.node_ratio:.3f}"),
        (
            "models",
            f"{compared.wins} {better}, {compared.losses} {worse}" + (f", {even} even" if even else ""),
        ),
        ("solves", f"{len(compared.rows)}, {seeds} a model, all methods of a model in turn on the same core"),
    ]
    if compared.comparisons:
        rows.append(("verdict", compared.verdict))
    show_facts(console, rows)


def show_optima(console: Console, compared: EvaluationResult | None, design: Sequence[SolveResult]) -> None:
    """Print what each model of a folder ended with: held-out ones under both branchers, design ones under the rule.

    Parameters
    ----------
    compared : EvaluationResult or None
        The comparison on held-out models, if there was one.
    design : sequence of SolveResult
        The rule's solves of design models.
    """
    baseline = compared.summary.baseline if compared is not None else "relpscost"
    several = compared is not None and len(compared.summary.seeds) > 1
    show_heading(console, "Models")
    table = plain_table(
        "model",
        "part",
        *(("seed",) if several else ()),
        "status",
        f"optimum\n{baseline}",
        "optimum\nrule",
        f"CPU s\n{baseline}",
        "CPU s\nrule",
        f"nodes\n{baseline}",
        "nodes\nrule",
    )
    for row in compared.optima if compared is not None else ():
        same = row["baseline_status"] == row["rule_status"]
        table.add_row(
            Text(row["instance"]),
            "test",
            *((str(row["seed"]),) if several else ()),
            row["rule_status"] if same else f"{row['baseline_status']} / {row['rule_status']}",
            number(row["baseline_objective"], 10),
            number(row["rule_objective"], 10),
            f"{row['baseline_s']:.2f}",
            f"{row['rule_s']:.2f}",
            str(row["baseline_nodes"]),
            str(row["rule_nodes"]),
        )
    for solve in design:
        table.add_row(
            Text(solve.instance),
            "design",
            *((str(solve.seed),) if several else ()),
            solve.status,
            "-",
            number(solve.primal_bound, 10),
            "-",
            f"{solve.cpu_s:.2f}",
            "-",
            str(solve.nodes),
        )
    console.print(table)


def show_tracked(
    console: Console,
    run: TrackedRun,
    ranking: str | None = None,
    more: Sequence[tuple[str, str]] = (),
) -> None:
    """Print where a run is in MLflow, how to look at it, and `more` facts."""
    show_heading(console, "MLflow")
    if not run.run_id:
        show_facts(console, [("run", "not delivered yet; the same command delivers it"), *more])
        return
    rows = [("run", run.run_id), *more]
    served = run.url.startswith(("http://", "https://"))
    address = "" if served else f"http://127.0.0.1:{MLFLOW_PORT}/"
    rows.append(("look at it", "open" if served else "run `bife ui`, then open"))
    rows.append(("  this run", f"{address}{run.url}"))
    if ranking is not None:
        rows.append(("  all rules", f"{address}{ranking}"))
    show_facts(console, rows)


def show_discovery(console: Console, config: PipelineConfig, result: PipelineResult) -> None:
    """Print everything a pipeline found."""
    if result.rule is None or result.evaluation is None:
        return
    show_rule(console, result.rule, config, result.evolution.decisions)
    if result.choice is not None:
        console.print(result.choice.sentence, markup=False, soft_wrap=True)
    show_comparison(console, result.evaluation)
    more = [("evaluation", result.evaluation.run.run_id or "not delivered yet")]
    if result.registered is not None:
        aliases = ", ".join(result.registered.aliases) or "no alias"
        more.append(
            ("registered", f"{result.registered.name} version {result.registered.version} ({aliases})")
        )
    more.append(("report", str(result.evaluation.directory / "report.html")))
    more.append(("files", str(result.evolution.directory)))
    show_tracked(console, result.evolution.run, result.evolution.ranking_url, more)
