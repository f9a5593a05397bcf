"""A PySCIPOpt branching rule that leaves to SCIP whatever is not a solution of the node's LP."""

from __future__ import annotations

import weakref
from typing import Any

import pyscipopt


class LpBranchrule(pyscipopt.Branchrule):  # type: ignore[misc]
    """Base of the branching rules written in Python here; they define `branchexeclp`.

    SCIP also asks every rule where the node has no LP solution or where constraints offer candidates of their own,
    and PySCIPOpt ends the solve with an error if a rule does not answer.
    """

    model: Any

    def include(self, model: pyscipopt.Model, name: str, about: str, priority: int) -> None:
        """Put the rule into a model, which it knows as `solved` and does not keep in memory.

        SCIP holds the rule, and PySCIPOpt has the rule hold the model: neither would ever be freed.
        """
        self.solved = weakref.proxy(model)
        model.includeBranchrule(self, name, about, priority, -1, 1.0)
        self.model = None

    def branchexecps(self, allowaddcons: bool) -> dict[str, int]:
        """Leave a node without an LP solution to SCIP's next rule."""
        return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}

    def branchexecext(self, allowaddcons: bool) -> dict[str, int]:
        """Leave candidates of nonlinear constraints to SCIP's next rule."""
        return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}
