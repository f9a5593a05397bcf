"""The commands that discover rules: `collect`, `evolve`, `evaluate` and `run`, which is all three."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, ParamSpec, TypeVar

import typer

from flows.cli.completion import methods, rule_references
from flows.cli.consoles import say, standard_output
from flows.cli.interrupt import GO_ON, ending_at_once
from flows.cli.options import with_configuration
from flows.cli.outcome import WITHOUT_OPTIMUM, CommandEnd, ExitCode, Interrupted, complain

if TYPE_CHECKING:
    from rich.console import Console

    from bife_core.config import PipelineConfig
    from bife_core.search import Sample
    from flows.results import EvaluationResult, EvolutionResult, PipelineResult

_FULL_MB = 5.0
"""Free megabytes below which trouble of Prefect's database is laid to the disk."""

_EVERY_S = 5.0
"""Seconds between two lines on how many models were looked at."""

P = ParamSpec("P")
R = TypeVar("R")

STARTING = "Starting ..."
"""Shown while Prefect and MLflow are imported, which takes seconds."""


@with_configuration()
def collect(*, config: PipelineConfig) -> None:
    """Record strong-branching decisions, which F_LF is measured on."""
    console = standard_output()
    with console.status(STARTING):
        from flows.cli import summary
        from flows.collection import collection

    summary.show_collection(console, run_flow(console, config, collection, config))


@with_configuration()
def evolve(*, config: PipelineConfig) -> None:
    """Search for a rule; decisions are collected first where they are missing."""
    console = standard_output()
    with console.status(STARTING):
        from flows.cli import summary
        from flows.evolution import evolution
        from tasks.evolution import require_generator

        require_generator(config)
    result = run_flow(console, config, evolution, config)
    summary.show_rule(console, required(result), config, result.decisions)
    summary.show_evolution(console, result)
    finish(console, config, None, result)


@with_configuration()
def evaluate(
    *,
    config: PipelineConfig,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REF",
            autocompletion=rule_references,
            help="A Python file, a reference rule (`bife rules list`), models:/NAME@ALIAS, or runs:/ID for the best "
            "rule of an evolution; may be repeated, the first leads.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REF",
            autocompletion=methods,
            help="A method to compare too: a built-in of SCIP such as pscost, a JSON file of a scorer, or one that "
            "another package offers; may be repeated.",
        ),
    ] = None,
) -> None:
    """Compare rules with a built-in of SCIP on held-out models, and write the report."""
    references = [*(rule or ()), *(method or ())]
    if not references:
        raise typer.BadParameter("There is nothing to evaluate: give --rule, or --method.")
    console = standard_output()
    with console.status(STARTING):
        from bife_core.methods.loading import load_method
        from flows.cli import summary
        from flows.evaluation import evaluation

        for reference in (*references, config.evaluation.baseline):
            load_method(reference)
    lead, *others = references
    result = run_flow(console, config, evaluation, config, lead, others=tuple(others))
    summary.show_comparison(console, result)
    summary.show_tracked(console, result.run, more=[("report", str(result.directory / "report.html"))])
    finish(console, config, result)


@with_configuration()
def run(*, config: PipelineConfig) -> None:
    """Discover a rule from models to registry: collect, evolve, evaluate, register."""
    console = standard_output()
    result = discover(console, config)
    finish(console, config, result.evaluation, result.evolution)
    if result.no_champion:
        say(console, result.no_champion)


def discover(console: Console, config: PipelineConfig) -> PipelineResult:
    """Run the pipeline, watched, and print what it found.

    Raises
    ------
    CommandEnd
        If no rule came out.
    """
    with console.status(STARTING):
        from bife_core.methods.loading import load_method
        from flows.cli import summary
        from flows.pipeline import pipeline
        from tasks.evolution import require_generator

        # What would stop the run late is found out before anything is spent.
        require_generator(config)
        load_method(config.evaluation.baseline)
    result = run_flow(console, config, pipeline, config)
    required(result.evolution)
    summary.show_discovery(console, config, result)
    return result


def required(result: EvolutionResult) -> Sample:
    """Return the best rule of a search.

    Raises
    ------
    CommandEnd
        If it has none.
    """
    if result.best is not None:
        return result.best
    early = f"{result.ended_by} " if result.ended_by else ""
    raise CommandEnd(
        f"{early}None of the {len(result.samples)} samples became a rule that solves the design instances "
        f"({result.failures} failed); samples.json in {result.folder} tells why for each.",
        ExitCode.ERROR,
    )


def _screening(console: Console) -> Callable[[int, int], None]:
    """Return who is told how many models of a folder were looked at, and says so now and then."""
    spoke_s = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal spoke_s
        if time.monotonic() - spoke_s > _EVERY_S:
            spoke_s = time.monotonic()
            say(console, f"looking at the models: {done} of {total}")

    return progress


def run_flow(
    console: Console, config: PipelineConfig, flow: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """Run a flow, shown as it goes; what there is to say of its models, such as which are left out, comes first.

    Raises
    ------
    BifeError
        Whatever the flow raises, or that Prefect could not run it.
    Interrupted
        After Ctrl-C.
    """
    from httpx import HTTPError
    from prefect.exceptions import PrefectException

    from flows.cli.watching import watching
    from flows.operate.running import report_interruption, run
    from tasks.collection import benchmark
    from tasks.home import project_home
    from tasks.stores import listening

    try:
        # Opened before Prefect starts, so that a folder that cannot be used is reported at once.
        with listening(_screening(console)):
            opened = benchmark(config.instances)
        told = partial(report_interruption, GO_ON)
        with watching(console) as watcher, ending_at_once(watcher.close, told):
            for note in opened.notes:
                watcher.note(note)
            return run(watcher, flow, *args, **kwargs)
    except KeyboardInterrupt as error:
        raise Interrupted(GO_ON) from error
    except (HTTPError, PrefectException, RuntimeError) as error:
        if not raised_in(error, "prefect"):
            raise
        home, address = project_home(), os.environ.get("PREFECT_API_URL")
        if home.free_mb < _FULL_MB:
            why = f"The disk that holds {home.root} is full; make room, and the same command goes on."
        elif address:
            advice = "check PREFECT_API_URL, and whether its server runs"
            why = f"Prefect's API at {address} cannot be used ({error}); {advice}."
        else:
            why = f"Prefect's embedded API cannot be used ({error}); `bife doctor` may tell why."
        raise CommandEnd(why, ExitCode.ERROR) from error


def raised_in(error: BaseException, package: str) -> bool:
    """Whether the code that raised `error`, or called into a library that did, is of a package."""
    frames = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__))
    packages = [str(name).partition(".")[0] for name in frames]
    known = [name for name in packages if name in ("flows", "tasks", "bife_core", package)]
    return known[-1:] == [package]


def finish(
    console: Console,
    config: PipelineConfig,
    compared: EvaluationResult | None,
    evolved: EvolutionResult | None = None,
) -> None:
    """Show what each model of a folder ended with, and end with an error where proofs differ or none is an optimum.

    Raises
    ------
    CommandEnd
        If methods proved different things of a model, or no model of a folder has an optimum.
    """
    from flows.cli import summary

    design = evolved.best_solves if evolved is not None else ()
    held_out = compared.endings if compared is not None else ()
    if config.instances.folder is not None:
        summary.show_optima(console, compared, design)
    differing = [
        *(compared.summary.mismatches if compared is not None else ()),
        *(evolved.mismatches if evolved is not None else ()),
    ]
    for sentence in differing:
        complain(f"Proven optima differ: {sentence}")
    if differing:
        raise CommandEnd(
            "A branching rule must never change an optimum: please report this with the model.",
            ExitCode.DISAGREEMENT,
        )
    if config.instances.folder is not None:
        ended = {solve.instance: solve.status for solve in design}
        ended |= {row["instance"]: row["rule_status"] for row in held_out}
        proven = [
            f"{name} {WITHOUT_OPTIMUM[status]}" for name, status in ended.items() if status in WITHOUT_OPTIMUM
        ]
        if proven and len(proven) == len(ended):
            raise CommandEnd(f"{'; '.join(proven)}.", ExitCode.NO_OPTIMUM)
        for sentence in proven:
            say(console, f"note: {sentence}.")
