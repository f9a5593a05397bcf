"""Results for people: each function returns something rich can print."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from bife_core.stats import geometric_mean
from flows.cli.consoles import duration, number
from flows.cli.servers import MLFLOW_PORT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bife_core.collection import CollectionSummary
    from bife_core.config import Cost, PipelineConfig
    from bife_core.search import Candidate
    from flows.results import CollectionResult, EvaluationResult, EvolutionResult, PipelineResult, TrackedRun
    from tasks.registry import RegisteredRule

_COSTS: dict[Cost, str] = {
    "time": "CPU seconds",
    "nodes": "nodes",
    "lp_iterations": "LP iterations",
    "gap": "final gap",
    "primal_dual_integral": "primal-dual integral",
}
NAMES = {"relpscost": "RPB (relpscost)"}
"""Branchers that people know under another name."""


def facts(rows: Sequence[tuple[str, str | Text]]) -> Table:
    """Return labelled facts, one a line."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, fact in rows:
        grid.add_row(label, fact if isinstance(fact, Text) else Text(fact))
    return grid


def heading(text: str) -> Text:
    """Return a line that begins a section."""
    return Text(f"\n{text}", style="bold cyan")


def code(source: str) -> RenderableType:
    """Return a rule's source, indented, in colours where there are any."""
    return Padding(
        Syntax(source.strip("\n"), "python", theme="ansi_dark", background_color="default", word_wrap=True),
        (0, 0, 0, 2),
    )


def collection(result: CollectionResult) -> Table:
    """Return what was recorded and where it is."""
    recorded = result.summary
    return facts(
        [
            ("decisions", f"{recorded.decisions} with {recorded.candidates} candidates"),
            ("instances", str(len(recorded.instances))),
            ("ties", f"{recorded.tie_share:.0%} of the decisions have several best candidates"),
            ("file", str(recorded.path)),
            ("MLflow run", result.run.run_id),
        ]
    )


def rule(best: Candidate, config: PipelineConfig, decisions: CollectionSummary) -> Group:
    """Return a rule with its fidelities, in words."""
    origin = f"{best.id} by {best.operator}" + (f" from {', '.join(best.parents)}" if best.parents else "")
    known: list[tuple[str, str | Text]] = []
    if best.f_lf is not None:
        known.append(
            (
                "F_LF",
                f"{best.f_lf:.3f}: picks a best candidate in {best.f_lf:.0%} of {decisions.decisions} decisions",
            )
        )
    if best.f_hf is not None:
        mean = f"{config.high.mean} mean of {_COSTS[config.high.cost]}"
        known.append(
            ("F_HF", f"{number(best.f_hf)}: minus the {mean} on {config.high.instances} design instances")
        )
    thought = [Text(f"  {' '.join(best.thought.split())}", style="italic")] if best.thought else []
    return Group(heading(f"The rule ({origin})"), *thought, code(best.source or ""), Text(), facts(known))


def evolution(result: EvolutionResult) -> Group:
    """Return what a search cost and where it can be looked at."""
    spent = result.spending
    rows: list[tuple[str, str | Text]] = [
        ("samples", f"{result.samples}, of which {result.failures} gave no valid rule"),
        ("took", duration(result.seconds)),
        ("file", str(result.best_rule)),
    ]
    if spent.calls:
        price = "" if spent.cost_usd is None else f", ${spent.cost_usd:.4f}"
        tokens = spent.prompt_tokens + spent.completion_tokens
        rows.append(("model API", f"{spent.calls} calls, {tokens:,} tokens{price}"))
    return Group(heading("The search"), facts(rows), tracked(result.run, result.ranking_url))


def no_rule(result: EvolutionResult) -> str:
    """Return the sentence for a search without a rule."""
    return (
        f"None of the {result.samples} samples became a rule that solves the design instances "
        f"({result.failures} failed); the table candidates.json in {result.directory} tells why for each."
    )


def comparison(result: EvaluationResult) -> Group:
    """Return rule and baseline side by side on held-out models."""
    compared = result.summary
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("brancher", "solved", "CPU s", "nodes", "LP iterations"):
        table.add_column(name, justify="left" if name == "brancher" else "right")
    for brancher in (compared.rule, compared.baseline):
        rows = [row for row in compared.rows if row["brancher"] == brancher]
        ended = Counter(row["status"] for row in rows)
        solved = sum(ended[status] for status in ("optimal", "infeasible", "unbounded", "inforunbd"))
        means = (
            geometric_mean([max(float(row[kind]), least) for row in rows])
            for kind, least in (("cpu_s", 1e-6), ("nodes", 1.0), ("lp_iterations", 1.0))
        )
        table.add_row(
            NAMES.get(brancher, brancher), f"{solved} of {len(rows)}", *(number(mean, 4) for mean in means)
        )
    models = "model" if compared.instances == 1 else "models"
    return Group(
        heading(
            f"Against {NAMES.get(compared.baseline, compared.baseline)} on {compared.instances} held-out {models}"
        ),
        table,
        Text("(geometric means)", style="dim"),
        facts(verdict(result)),
    )


def verdict(result: EvaluationResult) -> list[tuple[str, str | Text]]:
    """Return the time ratio with all that qualifies it."""
    compared = result.summary
    interval = (
        "no interval"
        if compared.ci_low is None or compared.ci_high is None
        else f"{compared.confidence:.0%} interval {compared.ci_low:.3f} to {compared.ci_high:.3f}"
    )
    even = compared.instances - compared.wins - compared.losses
    seeds = f"{len(compared.seeds)} seed{'s' if len(compared.seeds) > 1 else ''} each"
    rows: list[tuple[str, str | Text]] = [
        (
            "time ratio",
            Text.assemble((f"{compared.ratio:.3f}", "bold"), f" ({interval}): {_speed(compared.ratio)}"),
        ),
        ("node ratio", f"{compared.node_ratio:.3f}"),
        (
            "instances",
            f"{compared.wins} faster, {compared.losses} slower" + (f", {even} even" if even else ""),
        ),
        ("pairs", f"{len(compared.rows) // 2} of solves, {seeds}, both on the same core"),
    ]
    return rows


def _speed(ratio: float) -> str:
    share = abs(1.0 - ratio)
    return f"the rule takes {share:.0%} {'less' if ratio < 1 else 'more'} CPU time"


def optima(result: EvaluationResult) -> Table:
    """Return what baseline and rule ended with on each model."""
    baseline = result.summary.baseline
    table = Table(title="Models", title_justify="left", header_style="bold", box=None, padding=(0, 2, 0, 0))
    seeds = len(result.summary.seeds) > 1
    table.add_column("model", overflow="fold")
    for name in (
        *(("seed",) if seeds else ()),
        "status",
        f"optimum ({baseline})",
        "optimum (rule)",
        f"s ({baseline})",
        "s (rule)",
        f"nodes ({baseline})",
        "nodes (rule)",
    ):
        table.add_column(name, justify="right")
    for row in result.optima:
        status = row["rule_status"]
        if row["baseline_status"] != status:
            status = f"{row['baseline_status']} / {status}"
        table.add_row(
            row["instance"],
            *((str(row["seed"]),) if seeds else ()),
            status,
            number(row["baseline_objective"], 10),
            number(row["rule_objective"], 10),
            f"{row['baseline_s']:.2f}",
            f"{row['rule_s']:.2f}",
            str(row["baseline_nodes"]),
            str(row["rule_nodes"]),
        )
    return table


def tracked(run: TrackedRun, ranking: str | None = None, registered: RegisteredRule | None = None) -> Group:
    """Return where a run is in MLflow and how to look at it."""
    rows: list[tuple[str, str | Text]] = [("run", run.run_id)]
    if registered is not None:
        aliases = ", ".join(registered.aliases) or "no alias"
        rows.append(("registered", f"{registered.name} version {registered.version} ({aliases})"))
    served = run.url.startswith("http")
    address = "" if served else f"http://127.0.0.1:{MLFLOW_PORT}/"
    if not served:
        rows.append(("look at it", "`bife ui` starts the server; then open"))
    rows.append(("this run", f"{address}{run.url}"))
    if ranking is not None:
        rows.append(("candidates", f"{address}{ranking}"))
    return Group(heading("MLflow"), facts(rows))


def print_discovery(console: Console, config: PipelineConfig, result: PipelineResult) -> None:
    """Print everything a pipeline found."""
    if result.rule is None or result.evaluation is None:
        return
    console.print(rule(result.rule, config, result.collection.summary))
    console.print(comparison(result.evaluation))
    console.print(tracked(result.evolution.run, result.evolution.ranking_url, result.registered))
    console.print(
        facts([("evaluation run", result.evaluation.run.run_id), ("files", str(result.evolution.directory))])
    )
