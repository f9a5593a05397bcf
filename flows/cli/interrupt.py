"""Ctrl-C, a shutdown or a closed terminal during a run.

All that was paid for is on disk before it is used, so nothing has to be unwound, and unwinding would take as long as
the solves under way. The process says how to go on, has MLflow and Prefect know that it was stopped, takes its
children with it and ends, all within seconds; a second Ctrl-C does not wait even for that.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psutil

from flows.cli.outcome import complain
from flows.operate.signals import STOP_SIGNALS

GO_ON: Final = "Interrupted; the same command goes on where it stopped."

_REPORT_S: Final = 2.5
"""Wall seconds MLflow and Prefect get to take note."""
_LIMIT_S: Final = 4.5
"""Wall seconds until the process ends whatever hangs."""


@contextmanager
def ending_at_once(before: Callable[[], None], report: Callable[[], None]) -> Iterator[None]:
    """Have the stop signals end this process inside the block.

    Parameters
    ----------
    before : callable
        Called first, to give the screen back.
    report : callable
        Called next, to tell servers that the run was stopped; it is not waited for longer than some seconds.

    Notes
    -----
    Signals arrive by `signal.set_wakeup_fd`: at once, even while the main thread waits inside a library for a locked
    database, and although Prefect puts a handler of its own in the place of ours while a flow runs. Outside of the
    main thread signals cannot be handled, and nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrivals, wakeup = socket.socketpair()
    wakeup.setblocking(False)
    begun = threading.Event()

    def end(number: int) -> None:
        try:
            before()
            complain(GO_ON)
            reporting = threading.Thread(target=report, daemon=True)
            reporting.start()
            reporting.join(_REPORT_S)
        finally:
            leave(number)

    def watch() -> None:
        """End the process on the first stop signal; a second Ctrl-C ends it at once."""
        while byte := arrivals.recv(1):
            number = byte[0]
            if number in STOP_SIGNALS and not begun.is_set():
                begun.set()
                threading.Thread(target=end, args=(number,), daemon=True).start()
                threading.Timer(_LIMIT_S, leave, args=(number,)).start()
            elif number == signal.SIGINT:
                leave(number)

    watching = threading.Thread(target=watch, name="bife-interrupt", daemon=True)
    # It is the thread that acts; the handlers keep a signal from doing anything in the main thread.
    former_handlers = {number: signal.signal(number, lambda *_: None) for number in STOP_SIGNALS}
    former_wakeup = signal.set_wakeup_fd(wakeup.fileno(), warn_on_full_buffer=False)
    watching.start()
    try:
        yield
    finally:
        if begun.is_set():
            # Whatever the signal has raised in this thread must not be shown: the other thread ends the process.
            time.sleep(2 * _LIMIT_S)
        signal.set_wakeup_fd(former_wakeup)
        for number, handler in former_handlers.items():
            signal.signal(number, handler)
        wakeup.close()
        watching.join()
        arrivals.close()


def leave(number: int) -> None:
    """End this process, and all it has started and those have started, as killed by a signal."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(128 + number)
