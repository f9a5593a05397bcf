"""Run a stage from the command line: shown as it goes, ended within seconds by Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import psutil

from bife_core.cli.consoles import standard_output
from bife_core.cli.orchestration import of_flows, orchestrated, prepare
from bife_core.cli.outcome import complain

if TYPE_CHECKING:
    from bife_core.cli.watching import Display
    from bife_core.run.config import PipelineConfig

STOP_SIGNALS: Final = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
"""Ctrl-C, a shutdown, a closed terminal."""

GO_ON: Final = "Interrupted; the same command goes on where it stopped."

_STAGES: Final = {
    "collection": "collecting:collect",
    "tuning": "tuning:tune",
    "evolution": "searching:search",
    "evaluation": "evaluating:evaluate",
    "pipeline": "pipeline:run",
}
"""Module and function of each stage, which are imported when it runs."""


def run_stage(
    stage: str,
    config: PipelineConfig,
    *args: Any,
    methods: Sequence[str] = (),
    rules: bool = False,
    **kwargs: Any,
) -> Any:
    """Run a stage, as a flow where commands are `orchestrated`, and return its result.

    What would stop it late is raised before Prefect is loaded. `methods` are references to what it uses, `rules` says
    whether it writes some. What there is to say of its instances, such as which are left out, comes first. A
    `CommandEnd` says that Prefect could not run the flow; what the stage raises itself is passed on.
    """
    console, flows = standard_output(), orchestrated()
    with console.status("Starting ..."):
        prepare()
        from bife_core.run.observer import Observer
        from bife_core.run.stages.instances import entered
        from bife_core.search.generators import Account, open_generator
        from bife_core.solver.methods.loading import load_method
        from bife_core.store.home import project_home

        home = project_home()
        for reference in methods:
            load_method(reference)
        if rules:
            open_generator(config.generator, Account(home.store, "", config.budget))
        notes = entered(config.instances, home, Observer().progress).notes
        from bife_core.cli.watching import Display
        from bife_core.run.study.journal import stop_journals

        run, stop = _plain, stop_journals
        if flows:
            run = of_flows("bife_flows.cli.running").run
            stop = of_flows("bife_flows.operate.running").report_interruption
    with Display(console) as display, ending_at_once(display.close, partial(stop, GO_ON)) as take_signals:
        # Prefect has SIGTERM unwind a flow, which waits for the calls to a model and the solves under way.
        display.before_stage = take_signals
        for note in notes:
            display.note(note)
        return run(display, stage, config, *args, **kwargs)


def _plain(display: Display, stage: str, config: PipelineConfig, *args: Any, **kwargs: Any) -> Any:
    from bife_core.run.stages.runtime import Runtime

    module, _, function = _STAGES[stage].partition(":")
    runtime = Runtime(observer=display)
    runtime.home.require_room()
    return getattr(import_module(f"bife_core.run.stages.{module}"), function)(
        config, runtime, *args, **kwargs
    )


@contextmanager
def ending_at_once(before: Callable[[], None], report: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """Have Ctrl-C, a shutdown or a closed terminal end this process within seconds, inside the block.

    What was computed is on disk before it is used, so nothing is unwound: that would take as long as the solves under
    way. `before` gives the screen back, `report` reports the end to servers and may be cut short. A second Ctrl-C
    ends the process at once. What the block is given takes the signals back from a library that took them.
    """

    def end(number: int, _: object) -> None:
        for each in STOP_SIGNALS:
            signal.signal(each, lambda number, _: _leave(number))
        before()
        complain(GO_ON)
        reporting = threading.Thread(target=report, daemon=True)
        reporting.start()
        reporting.join(2.5)
        _leave(number)

    def take_signals() -> None:
        for each in STOP_SIGNALS:
            signal.signal(each, end)

    former = {each: signal.getsignal(each) for each in STOP_SIGNALS}
    take_signals()
    try:
        yield take_signals
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)


def _leave(number: int) -> None:
    """End this process and all its descendants as if killed by a signal."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    sys.stderr.flush()
    os._exit(128 + number)
