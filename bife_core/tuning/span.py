"""Ranges of numbers in the table of settings: ``1..20``, ``0.1..2.0 log``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Final

from bife_core.base.errors import ConfigError

_KEPT: Final = 0.75
"""How often a number stays what it is in the best so far."""

_NEAR: Final = 0.2
"""How far it moves at most otherwise, as a share of its range."""


@dataclass(frozen=True)
class Span:
    """Integer or real numbers from `low` to `high`; with `log` steps are factors."""

    low: float
    high: float
    integer: bool
    log: bool

    @classmethod
    def read(cls, text: str) -> Span:
        """Return the range that `text` writes; a `ConfigError` says if it is none."""
        numbers = text.removesuffix(" log")
        low, _, high = numbers.partition("..")
        try:
            span = cls(float(low), float(high), "." not in low + high, numbers != text)
        except ValueError:
            span = cls(0.0, 0.0, True, False)
        if not -math.inf < span.low < span.high < math.inf or (span.log and span.low <= 0):
            raise ConfigError(
                f"{text!r} is no range; write two finite numbers, the smaller first, as in 1..50 or 0.0..1.0, and "
                "' log' behind them if steps are factors and both are above 0."
            )
        return span

    def checked(self, text: str) -> str | None:
        """Return a number of the range as SCIP writes it, or None for what is none."""
        try:
            number = int(text) if self.integer else float(text)
        except ValueError:
            return None
        return self._text(number) if self.low <= number <= self.high else None

    def drawn(self, rng: Random, best: str | None = None) -> str:
        """Return a number of two digits; if `best` is in the range, this or, now and then, a number close to it."""
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        if best is None or self.checked(best) is None:
            place = rng.uniform(low, high)
        elif rng.random() < _KEPT:
            return best
        else:
            move = rng.uniform(-_NEAR, _NEAR) * (high - low)
            place = (math.log(float(best)) if self.log else float(best)) + move
        rounded = float(f"{math.exp(place) if self.log else place:.2g}")
        return self._text(min(max(rounded, self.low), self.high))

    def _text(self, number: float) -> str:
        return str(round(number)) if self.integer else f"{number:g}"
