"""A configuration that begins worse than any solve before it is stopped, and SCIP's own settings take over."""

from __future__ import annotations

from typing import Final

import pyscipopt

SHARE: Final = 0.25
"""Of the time limit: what a configuration that is stopped has taken of a solve."""

_PROGRESS: Final = pyscipopt.SCIP_EVENTTYPE.NODESOLVED | pyscipopt.SCIP_EVENTTYPE.LPSOLVED


class EarlyLook(pyscipopt.Eventhdlr):  # type: ignore[misc]
    """Notes a solve's mean gap over the first `SHARE` of its limit, and stops the solve if that is above `most`.

    Attributes
    ----------
    mean_gap : float or None
        Between 0 and 1; None while the solve has not come so far.
    stopped : bool
        Whether the solve was stopped.
    """

    model: pyscipopt.Model

    def __init__(self, model: pyscipopt.Model, limit_s: float, most: float | None) -> None:
        self.mean_gap: float | None = None
        self.stopped = False
        self._at_s, self._most, self._listens = SHARE * limit_s, most, False
        model.includeEventhdlr(self, "bife_early_look", "looks at the gap after a share of the limit")

    def eventinit(self) -> None:
        """Ask SCIP for events of solved nodes and LPs, until the gap was looked at."""
        if self.mean_gap is None:
            self.model.catchEvent(_PROGRESS, self)
            self._listens = True

    def eventexit(self) -> None:
        """Ask no longer."""
        if self._listens:
            self.model.dropEvent(_PROGRESS, self)
            self._listens = False

    def eventexec(self, event: object) -> None:
        """Look at the gap once it is time."""
        seconds = self.model.getSolvingTime()
        if self.mean_gap is not None or seconds < self._at_s:
            return
        self.mean_gap = min(self.model.getPrimalDualIntegral() / (100.0 * seconds), 1.0)
        if self._most is not None and self.mean_gap > self._most:
            self.stopped = True
            self.model.interruptSolve()
