"""Run a flow from the command line: shown as it goes, ended within seconds by Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

import psutil

from flows.cli.outcome import CommandEnd, complain
from flows.operate.signals import STOP_SIGNALS, handled_by

if TYPE_CHECKING:
    from rich.console import Console

    from bife_core.config import PipelineConfig

P = ParamSpec("P")
R = TypeVar("R")

GO_ON: Final = "Interrupted; the same command goes on where it stopped."


def run_flow(
    console: Console, config: PipelineConfig, flow: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """Run a flow; what there is to say of its instances, such as which are left out, comes first.

    What the flow raises is passed on; a `CommandEnd` says that Prefect could not run it.
    """
    from httpx import HTTPError
    from prefect.exceptions import PrefectException

    from flows.cli.watching import Display
    from flows.operate.running import report_interruption, run
    from tasks.instances import benchmark

    # Opened before Prefect starts, so that a folder that cannot be used is reported at once.
    with console.status("Checking the instances ..."):
        notes = benchmark(config.instances).notes
    reporting = partial(report_interruption, GO_ON)
    with Display(console) as display, ending_at_once(display.close, reporting) as take_signals:
        # Prefect has SIGTERM unwind a flow, which waits for the calls to a model and the solves under way.
        display.before_stage = take_signals
        for note in notes:
            display.note(note)
        try:
            return run(display, flow, *args, **kwargs)
        except (HTTPError, PrefectException, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not str(error).startswith("Failed to reach API"):
                raise
            address = os.environ.get("PREFECT_API_URL", "its embedded server")
            raise CommandEnd(f"Prefect's API at {address} cannot be used: {error}") from error


@contextmanager
def ending_at_once(before: Callable[[], None], report: Callable[[], None]) -> Iterator[Callable[[], None]]:
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

    with handled_by(end) as take_signals:
        yield take_signals


def _leave(number: int) -> None:
    """End this process and all its descendants as if killed by a signal."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    sys.stderr.flush()
    os._exit(128 + number)
