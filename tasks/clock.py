"""How long a search has run, over all its starts."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Final

from bife_core.config import BudgetConfig
from bife_core.files import write_whole

_INTERVAL_S: Final = 1.0
_HOUR_S: Final = 3600.0


class SearchClock:
    """Adds the wall time of this start to that of earlier ones; a kill loses the seconds since the last `tick`.

    Parameters
    ----------
    path : Path
        File the seconds are kept in.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before_s = self._read()
        self._began_s = self._written_s = time.monotonic()

    @property
    def seconds(self) -> float:
        """Wall seconds the search has run."""
        return self._before_s + time.monotonic() - self._began_s

    def until_unix_s(self, budget: BudgetConfig) -> float | None:
        """Return when `budget.hours` is used up, in seconds since 1970; None without that limit."""
        if budget.hours is None:
            return None
        return time.time() + _HOUR_S * budget.hours - self.seconds

    def tick(self, *, now: bool = False) -> None:
        """Write the time down, once a second at most unless `now` is given."""
        if not now and time.monotonic() - self._written_s < _INTERVAL_S:
            return
        write_whole(self._path, json.dumps({"seconds": self.seconds}))
        self._written_s = time.monotonic()

    def _read(self) -> float:
        try:
            return float(json.loads(self._path.read_text(encoding="utf-8"))["seconds"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            # No start yet, or half a file of a machine that lost power, which is no reason to stop.
            return 0.0
