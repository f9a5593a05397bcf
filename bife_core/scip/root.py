"""The CPU time a solve spends before its first branching: the same work under every branching rule."""

from __future__ import annotations

import time
from typing import Final

import pyscipopt
from pyscipopt import SCIP_EVENTTYPE

from bife_core.scip.effort import has_branched

_LP_SOLVED: Final = SCIP_EVENTTYPE.FIRSTLPSOLVED | SCIP_EVENTTYPE.LPSOLVED


class RootClock(pyscipopt.Eventhdlr):  # type: ignore[misc]
    """Reads the clock of this thread whenever an LP is solved before the first branching; include it before `optimize`.

    RPB may tighten bounds instead of branching, and have the LP of the root solved again: what it did by then is not
    the root's.

    Attributes
    ----------
    root_s : float or None
        CPU seconds from `start` to the last of them; None while there was none.
    """

    NAME: Final = "bife_root"
    model: pyscipopt.Model

    def __init__(self) -> None:
        self.root_s: float | None = None
        self._began_s = 0.0
        self._listens = False

    @classmethod
    def attach(cls, model: pyscipopt.Model) -> RootClock:
        """Return a clock for the solve of `model`."""
        clock = cls()
        model.includeEventhdlr(clock, cls.NAME, "reads the clock at LPs of the root")
        return clock

    def start(self) -> None:
        """Begin to count."""
        self._began_s = time.thread_time()

    def eventinit(self) -> None:
        """Ask SCIP to be told of solved LPs."""
        self.model.catchEvent(_LP_SOLVED, self)
        self._listens = True

    def eventexit(self) -> None:
        """Ask no longer."""
        if self._listens:
            self.model.dropEvent(_LP_SOLVED, self)
            self._listens = False

    def eventexec(self, event: object) -> None:
        """Read the clock, or stop listening once a branching rule was called."""
        if has_branched(self.model):
            self.eventexit()
        else:
            self.root_s = time.thread_time() - self._began_s
