"""Implied free variables: presolving that replaces a variable by an equation when rows imply the variable's bounds.

Free column substitution, an aggregator's work: Andersen and Andersen, "Presolving in linear programming" (1995);
Achterberg, Bixby, Gu, Rothberg and Weninger, "Presolve reductions in mixed integer programming" (2020). SCIP by itself
does so for a variable of two rows at most, and its wheel lacks PaPILO, which does it for more.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyscipopt

from bife_core.base.errors import SolverError
from bife_core.solver.scip.compiled import free_layout as layout
from bife_core.solver.scip.exactness import LINEAR
from bife_core.solver.scip.libscip import check, constraint_handlers, function, has_pricers, scip_address

NAME: Final = "bife_implied_free"

_PRIORITY: Final = 400_000_000  # after `Beforehand`, before SCIP's own
_WORK: Final = 100_000_000
_MOST_ENTRIES: Final = 5_000_000
"""Entries of rows that a solve goes through, and those that a copy of the rows may have: 280 MB."""


class ImpliedFree(pyscipopt.Presol):  # type: ignore[misc]
    """Aggregates variables whose bounds are implied by rows; optimum and solutions stay what they are.

    Variable ``x_j`` of an equation ``sum a_i x_i = b`` becomes ``(b - sum of the others) / a_j`` in all rows. It stays
    if a constraint that is not linear has it, if SCIP or a plugin says so or locks it otherwise than by its rows, if
    its coefficient is less than 1 % of another of the equation or of its column, or if it is in many rows or gives them
    many entries. Of integer variables those are replaced that are integers by the equation whatever the others are.
    With a pricer, in exact solving, or if a constraint does not tell its variables, nothing is done.
    """

    model: pyscipopt.Model

    def __init__(self, integers: bool) -> None:
        self._integers = integers
        self._work = _WORK

    @classmethod
    def include(cls, model: pyscipopt.Model, integers: bool) -> None:
        """Have a model, which may be without a problem yet, aggregate them whenever SCIP presolves exhaustively.

        Parameters
        ----------
        model
            The model; see `keeps_all`.
        integers
            Whether integer variables are replaced as well as continuous ones.
        """
        does = "aggregates variables whose bounds rows imply"
        when = {"priority": _PRIORITY, "maxrounds": -1, "timing": pyscipopt.SCIP_PRESOLTIMING.EXHAUSTIVE}
        model.includePresol(cls(integers), NAME, does, **when)

    def presolinit(self) -> None:
        """Allow each solve its work."""
        self._work = _WORK

    def presolexec(self, nrounds: int, presoltiming: int) -> dict[str, Any]:
        """Go once through the variables.

        Raises
        ------
        SolverError
            SCIP refuses an aggregation, or compiled code failed.
        """
        if self._work <= 0 or not self._may_aggregate():
            return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}
        outcome, words = self._aggregate()
        if outcome == layout.REFUSED:
            check(int(words[layout.CODE]), "aggregate a variable whose bounds are implied")
        if not layout.DONE <= outcome <= layout.INFEASIBLE:
            raise SolverError(f"Aggregation of implied free variables failed (code {outcome}).")
        if outcome == layout.INFEASIBLE:
            return {"result": pyscipopt.SCIP_RESULT.CUTOFF}
        count = int(words[layout.AGGREGATED])
        result = pyscipopt.SCIP_RESULT.SUCCESS if count else pyscipopt.SCIP_RESULT.DIDNOTFIND
        return {"result": result, "nnewaggrvars": count}

    def _may_aggregate(self) -> bool:
        """Whether a problem allows aggregations, and has variables that may be replaced."""
        scip = ctypes.c_void_p(scip_address(self.model))
        if any(function(name, ctypes.c_bool)(scip) for name in ("SCIPdoNotMultaggr", "SCIPisExact")):
            return False
        candidates = function("SCIPgetNVars" if self._integers else "SCIPgetNContVars")(scip)
        return candidates > 0 and not has_pricers(self.model)

    def _aggregate(self) -> tuple[int, npt.NDArray[np.int64]]:
        """Call compiled code with more and more room; return what it came to and its words."""
        from bife_core.solver.units import FEATURES  # compiled code is loaded only where it is used

        scip = ctypes.c_void_p(address := scip_address(self.model))
        n_variables, n_rows = function("SCIPgetNVars")(scip), function("SCIPgetNConss")(scip)
        find = function("SCIPfindConshdlr", ctypes.c_void_p)
        pointers = {name: find(scip, name.encode()) or 0 for name in sorted(LINEAR)}
        handlers = np.array([handler for handler in pointers.values() if handler], dtype=np.int64)
        variables = _copied(function("SCIPgetVars", ctypes.POINTER(ctypes.c_int64))(scip), n_variables)
        constraints = _copied(function("SCIPgetConss", ctypes.POINTER(ctypes.c_int64))(scip), n_rows)
        sizes = {layout.SCIP: address, layout.VARIABLES: n_variables, layout.CONSTRAINTS: n_rows}
        sizes |= {layout.HANDLERS: len(handlers), layout.LINEAR: pointers["linear"]}
        sizes |= {layout.INTEGERS: int(self._integers)}
        room, entries = n_variables + 1, min(_MOST_ENTRIES, 16 * (n_variables + n_rows) + 1000)
        while True:
            words = np.zeros(layout.WORDS, dtype=np.int64)
            settings = sizes | {layout.ROOM: room, layout.ENTRIES: entries, layout.WORK: self._work}
            words[list(settings)] = list(settings.values())
            arrays = {
                "words": words,
                "variables": variables,
                "constraints": constraints,
                "handlers": handlers,
            }
            arrays |= {name: np.zeros(n_variables, dtype=np.int64) for name in layout.BY_VARIABLE}
            arrays |= {name: np.zeros(n_rows, dtype=np.int64) for name in layout.BY_ROW}
            arrays |= {name: np.empty(entries, dtype=np.int64) for name in layout.BY_ENTRY}
            arrays["room"] = np.zeros(4 + 4 * room, dtype=np.int64)
            addresses = np.array([arrays[name].ctypes.data for name in layout.State._fields], dtype=np.int64)
            outcome = FEATURES.call("aggregate_implied_free", addresses.ctypes.data)
            self._work = int(words[layout.WORK])
            if outcome == layout.MORE_ROOM:
                room = int(words[layout.ROOM])
            elif outcome == layout.MORE_ENTRIES and entries < _MOST_ENTRIES:
                entries = min(_MOST_ENTRIES, 4 * entries)
            else:
                return outcome, words


def _copied(items: Any, count: int) -> npt.NDArray[np.int64]:
    return np.ctypeslib.as_array(items, (count,)).copy() if count else np.empty(0, np.int64)


def keeps_all(model: pyscipopt.Model) -> str:
    """Return why the variables of a model are to stay, or nothing.

    >>> keeps_all(pyscipopt.Model())
    ''
    """
    if constraint_handlers(model) - _usual_handlers():
        return "it has a constraint handler of its own"
    return "columns may be added" if has_pricers(model) else ""


def aggregated_in(model: pyscipopt.Model, limit_s: float) -> int:
    """Presolve a model for `limit_s` CPU seconds; return how many variables are replaced, integer ones too."""
    model.setParams({"timing/clocktype": 1, "limits/time": limit_s})
    ImpliedFree.include(model, integers=True)
    presolver = function("SCIPfindPresol", ctypes.c_void_p)(
        ctypes.c_void_p(scip_address(model)), NAME.encode()
    )
    model.presolve()
    return int(function("SCIPpresolGetNAggrVars")(ctypes.c_void_p(presolver)))


@cache
def _usual_handlers() -> frozenset[str]:
    return constraint_handlers(pyscipopt.Model())
