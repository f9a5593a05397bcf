"""What branching cost a solve, as SCIP counts it, and when the first branching began."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, Self

import pyscipopt
from pyscipopt import SCIP_EVENTTYPE

from bife_core.scip.libscip import function, library, scip_address

_LP_SOLVED: Final = SCIP_EVENTTYPE.FIRSTLPSOLVED | SCIP_EVENTTYPE.LPSOLVED


def saved_nodes(model: pyscipopt.Model) -> int:
    """Return the nodes that side effects of branching saved, as Gamrath and Schubert's fair node number adds them.

    They are two for each node cut off and each domain tightened by a branching rule while it chose a variable.
    """
    cutoffs = _total(model, "SCIPbranchruleGetNCutoffs", ctypes.c_longlong)
    return int(2 * (cutoffs + _total(model, "SCIPbranchruleGetNDomredsFound", ctypes.c_longlong)))


def branching_seconds(model: pyscipopt.Model) -> float:
    """Return the seconds spent in branching rules, on SCIP's clock."""
    return _total(model, "SCIPbranchruleGetTime", ctypes.c_double)


def _total(model: pyscipopt.Model, name: str, kind: type[object]) -> float:
    """Return the sum of a counter of SCIP's over all branching rules."""
    scip = ctypes.c_void_p(scip_address(model))
    rules = _function("SCIPgetBranchrules", ctypes.POINTER(ctypes.c_void_p))(scip)
    count, counter = int(_function("SCIPgetNBranchrules", ctypes.c_int)(scip)), _function(name, kind)
    return float(sum(counter(ctypes.c_void_p(rules[k])) for k in range(count)))


def lp_solver() -> str:
    """Return name and version of the LP solver SCIP was built with, such as ``SoPlex 8.0.2``."""
    name: bytes = _function("SCIPlpiGetSolverName", ctypes.c_char_p)()
    return name.decode()


def _function(name: str, result: type[object]) -> ctypes._NamedFuncPointer:
    found = function(library().handle, name)
    found.restype = result
    return found


class RootClock(pyscipopt.Eventhdlr):  # type: ignore[misc]
    """Reads this thread's clock whenever an LP is solved before the first branching: the same work under every rule.

    RPB may tighten bounds instead of branching, and have the LP of the root solved again: what it did by then is not
    the root's.

    `root_s` are CPU seconds from `start` to the last of them; None while there was none.
    """

    model: pyscipopt.Model
    root_s: float | None = None
    _listens = False

    @classmethod
    @contextmanager
    def over(cls, model: pyscipopt.Model) -> Iterator[Self]:
        """Give a clock for the solve of `model` made inside, and free the solved problem afterwards.

        Model and handler hold each other: without this a solved problem keeps its memory until the garbage
        collector comes by, and the next solve pays for pages of its own.
        """
        clock = cls()
        clock.start()
        model.includeEventhdlr(clock, "bife_root", "reads the clock at LPs of the root")
        try:
            yield clock
        finally:
            with suppress(Exception):  # SCIP frees no solve that failed while it was set up
                model.freeProb()
            clock.model = None

    def start(self) -> None:
        """Begin to count."""
        self._began_s = time.thread_time()

    def eventinit(self) -> None:
        """Ask SCIP for events of solved LPs."""
        self.model.catchEvent(_LP_SOLVED, self)
        self._listens = True

    def eventexit(self) -> None:
        """Ask no longer."""
        if self._listens:
            self.model.dropEvent(_LP_SOLVED, self)
            self._listens = False

    def eventexec(self, event: object) -> None:
        """Read the clock, or stop listening once a branching rule was called, even if it only tightened a bound."""
        if _total(self.model, "SCIPbranchruleGetNLPCalls", ctypes.c_longlong):
            self.eventexit()
        else:
            self.root_s = time.thread_time() - self._began_s
