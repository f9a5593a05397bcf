"""The commands that discover rules: `collect`, `evolve`, `evaluate`, `run`, which is all three, and `demo`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import summary
from flows.cli.consoles import say, show_facts, show_heading
from flows.cli.options import with_configuration
from flows.cli.outcome import CommandEnd, ExitCode, complain
from flows.cli.running import run_flow

if TYPE_CHECKING:
    from bife_core.config import PipelineConfig
    from bife_core.search import Sample
    from flows.results import EvaluationResult, EvolutionResult, PipelineResult


@with_configuration
def collect(*, config: PipelineConfig) -> None:
    """Record expert samples: strong branching's decisions, which F_LF is measured on."""
    result = run_flow("collection", config)
    summary.show_collection(result)


@with_configuration
def evolve(*, config: PipelineConfig) -> None:
    """Search for a rule; expert samples are collected first where they are missing."""
    result = run_flow("evolution", config, rules=True)
    summary.show_rule(required(result), config, result.decisions)
    summary.show_evolution(result)
    finish(config, None, result)


@with_configuration
def evaluate(
    *,
    config: PipelineConfig,
    rule: Annotated[
        list[str],
        typer.Option(
            metavar="REF",
            help="A Python file, a reference rule (`bife rules list`), models:/NAME@ALIAS, runs:/ID for the best rule "
            "of an evolution, a built-in of SCIP such as pscost, a settings file of RPB (.set), a JSON file of a "
            "scorer, or a plugin's method; may be repeated, the first leads.",
        ),
    ],
) -> None:
    """Compare rules and other methods with RPB on held-out instances, and write the report."""
    lead, *others = rule
    methods = (*rule, config.evaluation.baseline)
    result = run_flow("evaluation", config, lead, others=tuple(others), methods=methods)
    summary.show_comparison(result)
    summary.show_tracked(result.run, [("report", str(result.directory / "report.html"))])
    finish(config, result)


@with_configuration
def tune(
    *,
    config: PipelineConfig,
    seconds: Annotated[
        float, typer.Option(min=0, metavar="S", help="CPU seconds of solves after which no trial begins.")
    ] = 600.0,
    output: Annotated[Path, typer.Option(metavar="FILE", help="Settings file of SCIP to write.")] = Path(
        "tuned_rpb.set"
    ),
) -> None:
    """Tune RPB's parameters on the design instances: the baseline a rule has to beat, and a file for SCIP."""
    if output.suffix != ".set":
        raise typer.BadParameter(f"{output.name} is not what a settings file of SCIP is called.")
    result = run_flow("tuning", config, seconds)
    output.write_text(result.tuning.method.text, encoding="utf-8")
    summary.show_tracked(result.run, [("settings", str(output))])


@with_configuration
def run(*, config: PipelineConfig) -> None:
    """Discover a rule from instances to registry: collect, evolve, evaluate, register."""
    result = discover(config)
    finish(config, result.evaluation, result.evolution)
    if result.no_champion:
        say(result.no_champion)


@with_configuration
def demo(*, config: PipelineConfig) -> None:
    """Discover a rule for combinatorial auctions in minutes, without a model API; then see what to do next."""
    result = discover(config)
    rule = result.registered.reference if result.registered else "pseudocost_product"
    api = "BIFE_LLM_BASE_URL=... BIFE_LLM_MODEL=... BIFE_LLM_API_KEY=..."
    show_heading("What next")
    next_steps = [
        ("on your own instances", "bife run --instances DIR"),
        ("in PySCIPOpt", f'import bife_core; bife_core.attach(model, "{rule}")'),
        ("with a model API", f"{api} bife run --generator openai"),
    ]
    show_facts(next_steps)
    finish(config, result.evaluation, result.evolution)


def discover(config: PipelineConfig) -> PipelineResult:
    """Run the pipeline and print its result; raise `CommandEnd` if there is no rule."""
    result: PipelineResult = run_flow("pipeline", config, methods=(config.evaluation.baseline,), rules=True)
    required(result.evolution)
    summary.show_discovery(config, result)
    return result


def required(result: EvolutionResult) -> Sample:
    """Return the best rule of a search; raise `CommandEnd` if it has none."""
    if result.best is not None:
        return result.best
    early = f"{result.ended_by} " if result.ended_by else ""
    raise CommandEnd(
        f"{early}None of the {len(result.samples)} samples became a rule that solves the design instances "
        f"({result.failures} failed); samples.json in {result.folder} says why for each."
    )


def finish(
    config: PipelineConfig, compared: EvaluationResult | None, evolved: EvolutionResult | None = None
) -> None:
    """Show how each instance of a folder ended; raise `CommandEnd` if methods proved different things of one."""
    if config.instances.folder is not None:
        summary.show_optima(compared, evolved.best_solves if evolved is not None else ())
    differing = [
        *(compared.summary.mismatches if compared is not None else ()),
        *(evolved.mismatches if evolved is not None else ()),
    ]
    for sentence in differing:
        complain(f"Proven optima differ: {sentence}")
    if differing:
        raise CommandEnd(
            "A branching rule must never change an optimum: please report this with the instance.",
            ExitCode.DISAGREEMENT,
        )
