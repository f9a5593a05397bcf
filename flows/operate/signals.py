"""The signals that ask a process to stop."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

STOP_SIGNALS: Final = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
"""Ctrl-C, a shutdown, a closed terminal."""


@contextmanager
def handled_by(handler: Callable[[int, Any], None]) -> Iterator[Callable[[], None]]:
    """Have a function called for all of them inside the block; what it gives does so again where a library took one."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}

    def take() -> None:
        for number in STOP_SIGNALS:
            signal.signal(number, handler)

    take()
    try:
        yield take
    finally:
        for number, former in before.items():
            signal.signal(number, former)
