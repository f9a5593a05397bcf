"""What is done to a problem that SCIP reads later, as its command line does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyscipopt


class Later(pyscipopt.Presol):  # type: ignore[misc]
    """Does something to a problem once, when presolving begins, which must not be off."""

    model: pyscipopt.Model

    def __init__(self, action: Callable[[pyscipopt.Model], object]) -> None:
        self._action = action

    @classmethod
    def include(
        cls,
        model: pyscipopt.Model,
        name: str,
        does: str,
        action: Callable[[pyscipopt.Model], object],
        turn: int,
    ) -> None:
        """Have a model without a problem call the `action` with the problems that it gets; lower turns come first."""
        first = 500_000_000  # of SCIP's own presolvers none has as much
        when = {"priority": first - turn, "maxrounds": 1, "timing": pyscipopt.SCIP_PRESOLTIMING.FAST}
        model.includePresol(cls(action), f"bife_{name}", does, **when)

    def presolexec(self, nrounds: int, presoltiming: int) -> dict[str, Any]:
        """Act once; after a restart the problem is as the solve left it."""
        if nrounds == 0 and self.model.getNRuns() <= 1:
            self._action(self.model)
        return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}
