"""Run a flow from the command line: shown as it goes, ended within seconds by Ctrl-C."""

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

from flows.cli.consoles import standard_output
from flows.cli.outcome import CommandEnd, complain

if TYPE_CHECKING:
    from bife_core.config import PipelineConfig

STOP_SIGNALS: Final = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
"""Ctrl-C, a shutdown, a closed terminal."""

GO_ON: Final = "Interrupted; the same command goes on where it stopped."


def run_flow(
    stage: str,
    config: PipelineConfig,
    *args: Any,
    methods: Sequence[str] = (),
    rules: bool = False,
    **kwargs: Any,
) -> Any:
    """Run the flow of a stage and return its result; what would stop it late is raised before Prefect is loaded.

    `methods` are references to what it uses, `rules` says whether it writes some. What there is to say of its
    instances, such as which are left out, comes first. A `CommandEnd` says that Prefect could not run the flow; what it
    raises itself is passed on.
    """
    from bife_core.generators import Account, open_generator
    from bife_core.methods.loading import load_method
    from tasks.instances import benchmark
    from tasks.stores import home_store

    console = standard_output()
    with console.status("Starting ..."):
        for reference in methods:
            load_method(reference)
        if rules:
            open_generator(config.generator, Account(home_store(), "", config.budget))
        notes = benchmark(config.instances).notes
        from httpx import HTTPError
        from prefect.exceptions import PrefectException

        from flows.cli.watching import Display
        from flows.operate.running import report_interruption, run

        flow = getattr(import_module(f"flows.{stage}"), stage)
    reporting = partial(report_interruption, GO_ON)
    with Display(console) as display, ending_at_once(display.close, reporting) as take_signals:
        # Prefect has SIGTERM unwind a flow, which waits for the calls to a model and the solves under way.
        display.before_stage = take_signals
        for note in notes:
            display.note(note)
        try:
            return run(display, flow, config, *args, **kwargs)
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
