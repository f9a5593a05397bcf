"""Ctrl-C during a run.

The terminal sends the signal to Prefect's embedded API too, which ends at once; a flow that is unwound after that
tries for minutes to report to it. All that was paid for is on disk before it is used, so nothing is unwound: the
process says how to go on, takes its children with it and ends.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import psutil

from flows.cli.outcome import complain

STOP_SIGNALS: Final = [
    signal.SIGINT,
    signal.SIGTERM,
    *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []),
]
"""Ctrl-C, a shutdown, a closed terminal."""

GO_ON: Final = "Interrupted; the same command goes on where it stopped."

_GRACE_S: Final = 3.0


@contextmanager
def ending_at_once(before: Callable[[], None]) -> Iterator[None]:
    """Have the stop signals end this process inside the block.

    Parameters
    ----------
    before : callable
        Called first, to give the screen back.

    Notes
    -----
    Outside of the main thread signals cannot be handled, and with an API of the user's own, which no signal of
    ours reaches, Prefect is left to report the interruption; then nothing is changed.
    """
    in_charge = threading.current_thread() is threading.main_thread() and not os.environ.get(
        "PREFECT_API_URL"
    )
    if not in_charge:
        yield
        return
    former = {number: signal.signal(number, _starter(before)) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _starter(before: Callable[[], None]) -> Callable[[int, FrameType | None], None]:
    def handle(number: int, frame: FrameType | None) -> None:
        # In a thread, since the code this interrupts may hold the very locks that printing takes.
        for stop in STOP_SIGNALS:
            signal.signal(stop, signal.SIG_IGN)
        threading.Thread(target=_end, args=(number, before), name="bife-interrupt").start()

    return handle


def _end(number: int, before: Callable[[], None]) -> None:
    try:
        before()
        complain(GO_ON)
        end_children()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(128 + number)


def end_children() -> None:
    """End all processes this one has started and those they have started."""
    family = psutil.Process().children(recursive=True)
    for process in family:
        _send(process, signal.SIGTERM)
    _, stubborn = psutil.wait_procs(family, timeout=_GRACE_S)
    for process in stubborn:
        _send(process, getattr(signal, "SIGKILL", signal.SIGTERM))
    psutil.wait_procs(stubborn, timeout=_GRACE_S)


def _send(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
