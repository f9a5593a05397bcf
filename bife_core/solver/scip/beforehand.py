"""What is done to a problem when SCIP begins to solve it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyscipopt


class Beforehand(pyscipopt.Presol):  # type: ignore[misc]
    """Does something to each problem once a solve, before SCIP presolves it, also where presolving is off.

    SCIP changes flags of rows only while it presolves: what does that acts `within` presolving, first of all.
    """

    model: pyscipopt.Model

    def __init__(self, action: Callable[[pyscipopt.Model], object], within: bool) -> None:
        self._action, self._within, self._acted = action, within, False

    @classmethod
    def include(
        cls,
        model: pyscipopt.Model,
        name: str,
        does: str,
        action: Callable[[pyscipopt.Model], object],
        within: bool = False,
    ) -> None:
        """Have a model, which may be without a problem yet, call the `action`."""
        first = 500_000_000  # of SCIP's own presolvers none has as much
        when = {"priority": first, "maxrounds": int(within), "timing": pyscipopt.SCIP_PRESOLTIMING.FAST}
        model.includePresol(cls(action, within), f"bife_{name}", does, **when)

    def presolinit(self) -> None:
        """Begin with another problem."""
        self._acted = False

    def presolinitpre(self) -> None:
        """Act before presolving."""
        self._act(within=False)

    def presolexec(self, nrounds: int, presoltiming: int) -> dict[str, Any]:
        """Act within presolving."""
        self._act(within=True)
        return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}

    def _act(self, within: bool) -> None:
        if within == self._within and not self._acted:  # after a restart the problem is as the solve left it
            self._acted = True
            try:
                self._action(self.model)
            except KeyboardInterrupt:  # PySCIPOpt would only print it
                self.model.interruptSolve()
