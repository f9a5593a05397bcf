"""Rows on demand of a problem that SCIP reads later, by its command line."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyscipopt

from bife_core.solver.scip.row_classes import Rows


class LaterRows(pyscipopt.Presol):  # type: ignore[misc]
    """Puts rows of some classes on demand when presolving begins, which must not be off."""

    model: pyscipopt.Model

    def __init__(self, classes: Collection[str]) -> None:
        self._classes = classes

    @classmethod
    def include(cls, model: pyscipopt.Model, classes: Collection[str]) -> None:
        """Have a model without a problem put them on demand in the problems that it gets."""
        first = {"priority": 500_000_000, "maxrounds": 1, "timing": pyscipopt.SCIP_PRESOLTIMING.FAST}
        model.includePresol(cls(classes), "bife_rows", "puts rows on demand", **first)

    def presolexec(self, nrounds: int, presoltiming: int) -> dict[str, Any]:
        """Put them on demand once; after a restart they are as the solve left them."""
        if nrounds == 0 and self.model.getNRuns() <= 1:
            Rows(self.model, transformed=True).put_on_demand(self._classes)
        return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}
