"""Run a stage from the command line: shown as it goes, ended within seconds by Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bife_core.cli.backend import backend
from bife_core.cli.consoles import standard_output
from bife_core.cli.outcome import complain

if TYPE_CHECKING:
    from bife_core.run.config import PipelineConfig

STOP_SIGNALS: Final = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
"""Ctrl-C, a shutdown, a closed terminal."""

GO_ON: Final = "Interrupted; the same command goes on where it stopped."


def run_stage(
    stage: str,
    config: PipelineConfig,
    *args: Any,
    methods: Sequence[str] = (),
    rules: bool = False,
    **kwargs: Any,
) -> Any:
    """Run a stage with the `backend` and return its result.

    What would stop it late is raised before the backend loads what takes seconds. `methods` are references to what the
    stage uses, `rules` says whether it writes some. What there is to say of its instances, such as which are left out,
    comes first. A `CommandEnd` says that the backend could not run the stage; its own errors are passed on.
    """
    console, runner = standard_output(), backend()
    with console.status("Starting ..."):
        from bife_core.run.observer import Observer
        from bife_core.run.stages.instances import entered
        from bife_core.search.generators import Account, open_generator
        from bife_core.solver.methods.references import load_method
        from bife_core.store.home import project_home

        home = project_home()
        for reference in methods:
            load_method(reference)
        if rules:
            open_generator(config.generator, Account(home.store, "", config.budget))
        notes = entered(config.instances, home, Observer().progress).notes
        from bife_core.cli.watching import Display

        report = partial(runner.reporter(), GO_ON)
    with Display(console) as display, ending_at_once(display.close, report) as take_signals:
        # Prefect has SIGTERM unwind a flow, which waits for the calls to a model and the solves under way.
        display.before_stage = take_signals
        for note in notes:
            display.note(note)
        with runner.running(stage, config, display) as run:
            return run(*args, **kwargs)


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
    import psutil

    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    sys.stderr.flush()
    os._exit(128 + number)
