"""Results for people: each function prints one section on a console."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from bife_core.config import PipelineConfig
    from bife_core.decisions.collecting import CollectionSummary
    from bife_core.scip.solving import SolveResult
    from bife_core.search import Sample
    from flows.results import CollectionResult, EvaluationResult, EvolutionResult, PipelineResult, TrackedRun


def show_collection(result: CollectionResult) -> None:
    """Print what was recorded and where it is."""
    recorded = result.summary
    show_facts(
        [
            ("expert samples", f"{recorded.decisions} with {recorded.candidates} candidates"),
            ("instances", str(len(recorded.instances))),
            ("file", str(recorded.path)),
        ]
    )
    show_tracked(result.run)


def show_rule(best: Sample, config: PipelineConfig, decisions: CollectionSummary | None) -> None:
    """Print a rule with its fidelities, in words."""
    from bife_core.evaluation.metrics import METRICS

    show_heading(f"The rule ({best.lineage})")
    if best.thought:
        say(" ".join(best.thought.split()))
    show_code(best.source or "")
    say()
    facts = []
    if best.f_lf is not None and decisions is not None:
        facts.append(
            ("F_LF", f"{best.f_lf:.3f}: {config.low.measure} on {decisions.decisions} expert samples")
        )
    if best.f_hf is not None:
        cost = METRICS[config.high.cost].words
        facts.append(("F_HF", f"{number(best.f_hf)}: minus the mean {cost} over the design instances"))
    show_facts(facts)


def show_evolution(result: EvolutionResult) -> None:
    """Print what a search cost and where its samples are."""
    spent = result.spending
    rows = [
        ("samples", f"{len(result.samples)}, of which {result.failures} gave no valid rule"),
        ("took", duration(result.seconds)),
        ("file", str(result.best_rule)),
    ]
    if spent.calls:
        price = "" if spent.cost_usd is None else f", ${spent.cost_usd:.4f}"
        rows.append(("model API", f"{spent.calls} calls, {spent.tokens:,} tokens{price}{spent.caveat}"))
    show_heading("The search")
    show_facts(rows)
    show_tracked(result.run, [("all rules", result.ranking_url)])


def show_comparison(result: EvaluationResult) -> None:
    """Print all methods side by side on held-out instances, then the ratio with all that qualifies it."""
    from bife_core.evaluation.metrics import method_table
    from flows.conclusions import measured

    compared = result.summary
    instances = counted(compared.lead.instances, "held-out instance", compared.lead.groups)
    show_heading(f"Against {full_name(compared.baseline)} on {instances}")
    table = method_table(compared.frame, compared.protocol.metric)
    rows = [
        (
            full_name(method),
            f"{entry['solved']} of {entry['solves']}{'*' * (entry['missing'] > 0)}",
            *(number(entry[name]) for name in ("time", "nodes", "lp_iterations")),
            f"{entry['inference_share']:.1%}",
        )
        for method, entry in zip(table.index, table.to_dict("records"), strict=True)
    ]
    columns = ("method", "solved", "CPU s", "nodes", "LP iterations", "in branching")
    show_table(columns, rows)
    say("Means are geometric over all solves; missing ones (*) count as at least the time limit.")
    show_facts(measured(result))


def show_optima(compared: EvaluationResult | None, design: Sequence[SolveResult]) -> None:
    """Print how each instance of a folder ended: held-out ones under both methods, design ones under the rule."""
    rows = []
    if compared is not None:
        methods = (compared.summary.baseline, compared.summary.rule)
        for (_, seed), solves in compared.endings.items():
            both = [solves[method] for method in methods]
            status = " / ".join(dict.fromkeys(str(one["status"]) for one in both))
            shown = {"primal_bound": 10, "cpu_s": 4, "nodes": 10}
            cells = [number(one[what], digits) for what, digits in shown.items() for one in both]
            rows.append((both[0]["instance"], "test", str(seed), status, *cells))
    for solve in design:
        objective, seconds = number(solve.primal_bound, 10), f"{solve.cpu_s:.2f}"
        cells = ["-", objective, "-", seconds, "-", str(solve.nodes)]
        rows.append((solve.instance, "design", str(solve.seed), solve.status, *cells))
    baseline = compared.summary.baseline if compared is not None else "relpscost"
    columns = [f"{what}\n{who}" for what in ("objective", "CPU s", "nodes") for who in (baseline, "rule")]
    show_heading("Instances")
    show_table(("instance", "part", "seed", "status", *columns), rows)


def show_tracked(run: TrackedRun, facts: Sequence[tuple[str, str]] = ()) -> None:
    """Print where a run is in MLflow, and `facts`."""
    rows = [("run", run.run_id), ("this run", run.url)]
    if not run.run_id:
        rows = [("run", "not in MLflow yet; the same command writes it")]
    elif not run.url.startswith("http"):
        rows.insert(1, ("pages", "run `bife up`, then append to MLflow's address"))
    show_heading("MLflow")
    show_facts([*rows, *facts])


def show_discovery(config: PipelineConfig, result: PipelineResult) -> None:
    """Print everything a pipeline found."""
    if result.rule is None or result.evaluation is None:
        return
    show_rule(result.rule, config, result.evolution.decisions)
    if result.choice is not None:
        say(result.choice.sentence)
    show_comparison(result.evaluation)
    standing, registered = "not yet", result.registered
    if registered is not None:
        aliases = ", ".join(registered.aliases) or "no alias"
        standing = f"{registered.name} version {registered.version} ({aliases})"
    facts = [
        ("all rules", result.evolution.ranking_url),
        ("evaluation", result.evaluation.run.run_id or "not in MLflow yet"),
        ("registered", standing),
        ("report", str(result.evaluation.directory / "report.html")),
        ("files", str(result.evolution.folder)),
    ]
    if result.tuned is not None:
        facts.append(("tuned RPB", str(result.tuned.path)))
    show_tracked(result.evolution.run, facts)
