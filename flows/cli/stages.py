"""The commands that discover rules: `collect`, `evolve`, `evaluate` and `run`, which is all three."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, ParamSpec, TypeVar

import typer

from flows.cli.completion import rule_references
from flows.cli.consoles import standard_output
from flows.cli.options import with_configuration
from flows.cli.outcome import CommandEnd, ExitCode, Interrupted, complain

if TYPE_CHECKING:
    from rich.console import Console

    from bife_core.config import PipelineConfig
    from flows.results import EvaluationResult, PipelineResult

P = ParamSpec("P")
R = TypeVar("R")


@with_configuration
def collect(*, config: PipelineConfig) -> None:
    """Record strong-branching decisions, which F_LF is measured on."""
    from flows.cli import summary
    from flows.collection import collection

    console = standard_output()
    result = run_flow(console, config, collection, config)
    summary.show_collection(console, result)


@with_configuration
def evolve(*, config: PipelineConfig) -> None:
    """Search for a rule; decisions are collected first where they are missing."""
    from flows.cli import summary
    from flows.evolution import evolution

    console = standard_output()
    result = run_flow(console, config, evolution, config)
    if result.best is None:
        raise CommandEnd(summary.no_rule(result), ExitCode.ERROR)
    summary.show_rule(console, result.best, config, result.decisions)
    summary.show_evolution(console, result)


@with_configuration
def evaluate(
    *,
    config: PipelineConfig,
    rule: Annotated[
        str,
        typer.Option(
            metavar="REF",
            autocompletion=rule_references,
            help="A Python file, a reference rule (`bife rules list`), or models:/NAME@ALIAS.",
        ),
    ],
) -> None:
    """Compare a rule with a SCIP brancher on held-out models."""
    from flows.cli import summary
    from flows.evaluation import evaluation

    console = standard_output()
    result = run_flow(console, config, evaluation, config, rule)
    summary.show_comparison(console, result)
    summary.show_tracked(console, result.run)
    finish(console, config, result)


@with_configuration
def run(*, config: PipelineConfig) -> None:
    """Discover a rule from models to registry: collect, evolve, evaluate, register."""
    from flows.cli import summary

    console = standard_output()
    result = discover(console, config)
    if result.evaluation is not None:
        summary.show_discovery(console, config, result)
        finish(console, config, result.evaluation)


def discover(console: Console, config: PipelineConfig) -> PipelineResult:
    """Run the pipeline, watched; its result has a rule.

    Raises
    ------
    CommandEnd
        If no rule came out.
    """
    from flows.cli import summary
    from flows.pipeline import pipeline

    result = run_flow(console, config, pipeline, config)
    if result.evaluation is None:
        raise CommandEnd(summary.no_rule(result.evolution), ExitCode.ERROR)
    return result


def run_flow(
    console: Console, config: PipelineConfig, flow: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """Run a flow, shown as it goes; a folder's unusable files are named first.

    Raises
    ------
    BifeError
        Whatever the flow raises.
    Interrupted
        After Ctrl-C.
    """
    from flows.cli.watching import watching
    from flows.running import run
    from tasks.collection import benchmark

    try:
        # Opened before Prefect starts, so that a folder that cannot be used is reported at once.
        for _, reason in getattr(benchmark(config.instances), "left_out", ()):
            console.print(f"left out: {reason}", markup=False, soft_wrap=True)
        with watching(console) as watcher:
            return run(watcher, flow, *args, **kwargs)
    except KeyboardInterrupt as error:
        raise Interrupted("Interrupted; the same command goes on where it stopped.") from error


def finish(console: Console, config: PipelineConfig, result: EvaluationResult) -> None:
    """Show each model's optimum for a folder, and end with an error where optima differ.

    Raises
    ------
    CommandEnd
        If rule and baseline proved different optima for some model.
    """
    from flows.cli import summary

    if config.instances.folder is not None:
        summary.show_optima(console, result)
    differing = result.summary.mismatches
    if differing:
        for mismatch in differing:
            complain(f"Proven optima differ: {mismatch}")
        raise CommandEnd(
            "A branching rule must never change an optimum: please report this with the model.",
            ExitCode.DISAGREEMENT,
        )
