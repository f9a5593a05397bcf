"""Results for people: each function prints one section on a console."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from bife_core.evaluation.metrics import METRICS, method_table
from bife_core.wording import counted
from flows.cli.consoles import (
    duration,
    full_name,
    number,
    say,
    show_code,
    show_facts,
    show_heading,
    show_table,
)
from flows.operate.servers import LOOPBACK, MLFLOW_PORT
from flows.verdicts import measured

if TYPE_CHECKING:
    from bife_core.config import PipelineConfig
    from bife_core.decisions.collecting import CollectionSummary
    from bife_core.scip.solving import SolveResult
    from bife_core.search import Sample
    from flows.results import CollectionResult, EvaluationResult, EvolutionResult, PipelineResult, TrackedRun


def show_collection(console: Console, result: CollectionResult) -> None:
    """Print what was recorded and where it is."""
    recorded = result.summary
    facts = [
        ("decisions", f"{recorded.decisions} with {recorded.candidates} candidates"),
        ("instances", str(len(recorded.instances))),
        ("ties", f"{recorded.tie_share:.0%} of the decisions have several best candidates"),
        (
            "no choice",
            f"{recorded.pruned_share:.0%} at pruned nodes, {recorded.tightenable_share:.0%} where a bound tightens",
        ),
        ("file", str(recorded.path)),
    ]
    show_facts(console, facts)
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
        known.append(("F_LF", f"{best.f_lf:.3f}: {config.low.measure} on {decisions.decisions} decisions"))
    if best.f_hf is not None:
        what = METRICS[config.high.cost].words + (" in seconds" if config.high.cost == "time" else "")
        what += f" to {config.high.solver.goal}" if config.high.solver.gap else ""
        mean = f"minus the mean of {what} over the design instances"
        known.append(("F_HF", f"{number(best.f_hf)}: {mean}"))
    show_facts(console, known)


def show_evolution(console: Console, result: EvolutionResult) -> None:
    """Print what a search cost and where it can be looked at."""
    spent = result.spending
    rows = [
        ("samples", f"{len(result.samples)}, of which {result.failures} gave no valid rule"),
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


def show_comparison(console: Console, result: EvaluationResult) -> None:
    """Print all methods side by side on held-out models, the verdict, and the ratio with all that qualifies it."""
    compared = result.summary
    models = counted(compared.lead.instances, "held-out model")
    show_heading(console, f"Against {full_name(compared.baseline)} on {models}")
    entries = method_table(compared.frame(), compared.protocol.metric)
    several = len(compared.settings) > 1
    rows = [
        (
            *((setting,) if several else ()),
            full_name(method),
            f"{entry['solved']} of {entry['solves']}{'*' * (entry['missing'] > 0)}",
            *(number(entry[name]) for name in ("time", "nodes", "lp_iterations")),
            f"{entry['inference_share']:.1%}",
        )
        for (setting, method), entry in zip(entries.index, entries.to_dict("records"), strict=True)
    ]
    columns = ("method", "solved", "CPU s", "nodes", "LP iterations", "in branching")
    show_table(console, (*(("models",) if several else ()), *columns), rows)
    console.print("CPU s, nodes and LP iterations are geometric means over all solves", style="dim")
    if compared.failures:
        console.print("* some of its solves are missing and charged at least the time limit", style="dim")
    console.print()
    show_facts(console, measured(result))


def show_optima(console: Console, compared: EvaluationResult | None, design: Sequence[SolveResult]) -> None:
    """Print what each model of a folder ended with: held-out ones under both methods, design ones under the rule.

    Parameters
    ----------
    compared : EvaluationResult or None
        The comparison on held-out models, if there was one.
    design : sequence of SolveResult
        The rule's solves of design models.
    """
    baseline = compared.summary.baseline if compared is not None else "relpscost"
    several = compared is not None and len(compared.summary.protocol.seeds) > 1

    def row(model: str, part: str, seed: int, *cells: str) -> tuple[str, ...]:
        return (model, part, *((str(seed),) if several else ()), *cells)

    rows = []
    for one in compared.endings if compared is not None else ():
        rule, other = one["rule_status"], one["baseline_status"]
        objectives = (number(one[f"{who}_objective"], 10) for who in ("baseline", "rule"))
        times = (number(one[f"{who}_s"]) for who in ("baseline", "rule"))
        nodes = (number(one[f"{who}_nodes"], 10) for who in ("baseline", "rule"))
        status = rule if rule == other else f"{other} / {rule}"
        rows.append(row(one["instance"], "test", one["seed"], status, *objectives, *times, *nodes))
    for solve in design:
        ended = (number(solve.primal_bound, 10), "-", f"{solve.cpu_s:.2f}", "-", str(solve.nodes))
        rows.append(row(solve.instance, "design", solve.seed, solve.status, "-", *ended))
    measured = [f"{what}\n{who}" for what in ("objective", "CPU s", "nodes") for who in (baseline, "rule")]
    show_heading(console, "Models")
    show_table(console, ("model", "part", *(("seed",) if several else ()), "status", *measured), rows)


def show_tracked(
    console: Console, run: TrackedRun, ranking: str | None = None, more: Sequence[tuple[str, str]] = ()
) -> None:
    """Print where a run is in MLflow, how to look at it, and `more` facts."""
    show_heading(console, "MLflow")
    if not run.run_id:
        show_facts(console, [("run", "not delivered yet; the same command delivers it"), *more])
        return
    served = run.url.startswith(("http://", "https://"))
    address = "" if served else f"http://{LOOPBACK}:{MLFLOW_PORT}/"
    facts = [
        ("run", run.run_id),
        *more,
        ("look at it", "open" if served else "run `bife ui`, then open"),
        ("  this run", f"{address}{run.url}"),
        *([("  all rules", f"{address}{ranking}")] if ranking is not None else ()),
    ]
    show_facts(console, facts)


def show_discovery(console: Console, config: PipelineConfig, result: PipelineResult) -> None:
    """Print everything a pipeline found."""
    if result.rule is None or result.evaluation is None:
        return
    show_rule(console, result.rule, config, result.evolution.decisions)
    if result.choice is not None:
        say(console, result.choice.sentence)
    show_comparison(console, result.evaluation)
    more = [("evaluation", result.evaluation.run.run_id or "not delivered yet")]
    if (known := result.registered) is not None:
        aliases = ", ".join(known.aliases) or "no alias"
        more.append(("registered", f"{known.name} version {known.version} ({aliases})"))
    more.append(("report", str(result.evaluation.directory / "report.html")))
    more.append(("files", str(result.evolution.folder)))
    show_tracked(console, result.evolution.run, result.evolution.ranking_url, more)
