"""How many requests go to a model server at once, as learned from what it answers and refuses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Final

_POLL_S: Final = 0.25


class Pace:
    """Lets requests out: one at once until `open` is called, then `most`, but no more than the server takes.

    Threads share it; once `over` is true nothing waits. `refused` counts refusals in a row of a request that was alone.
    """

    def __init__(self, most: int, over: Callable[[], bool]) -> None:
        self._changed, self._most, self._over = Condition(), most, over
        self._under_way = self._proven = self.refused = 0
        self._until_s = self.answered_unix_s = 0.0
        self.limit, self.opened = 1, False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until a request may go out."""
        with self._changed:
            while not self._over() and (self._under_way >= self.limit or time.monotonic() < self._until_s):
                self._changed.wait(_POLL_S)
            self._under_way += 1
        try:
            yield
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def open(self) -> None:
        """Let out as many requests at once as may be."""
        with self._changed:
            self.limit, self.opened = self.limit if self.opened else self._most, True

    def answer(self) -> None:
        """Take note that a request was answered; after eight, one more may go out at once."""
        with self._changed:
            self.answered_unix_s, self.refused = time.time(), 0
            self._proven = (self._proven + 1) % 8
            self.limit = min(self.limit + (self.opened and not self._proven), self._most)

    def refuse(self, wait_s: float) -> None:
        """Take note that a request was refused, and for how long none is to go out."""
        with self._changed:
            others, self._proven = self._under_way - 1, 0
            self.limit = max(1, min(self.limit - 1, others))
            self.refused += not others
            backoff_s = 0.0 if others else 0.25 * 2 ** min(self.refused, 5)
            self._until_s = max(self._until_s, time.monotonic() + (wait_s if wait_s > 0 else backoff_s))
