"""The strong-branching expert: solve a model under it and record its candidates, their features and their scores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyscipopt

from bife_core.base.errors import InterruptedSolveError
from bife_core.measure.decisions.nodes import sharing
from bife_core.measure.decisions.recorded import Decisions, concatenate
from bife_core.solver.methods.attach import give
from bife_core.solver.methods.base import Method
from bife_core.solver.scip.extractor import FeatureExtractor
from bife_core.solver.scip.node import Floats, Node
from bife_core.solver.scip.python_branching import LpBranchrule
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.settings import put_in_charge
from bife_core.solver.scip.solve import INTERRUPTED, SolveSettings, apply, optimize

_NO_LIMIT: Final = 2**31 - 1
_INFEASIBLE_GAIN: Final = 1e20  # bound gain of an infeasible child without an incumbent: SCIP's infinity


def strong_branching(model: pyscipopt.Model, variables: list[Any]) -> dict[str, Floats] | None:
    """Solve the LPs of both children of n candidates to the end; pseudocosts do not change.

    Returns `scores` (n,), `gains` (2, n) and `room` (1,) as in `Decisions`; None if an LP could not be solved.
    """
    bound = model.getLPObjVal()
    cutoff = model.getCutoffbound()
    room = _INFEASIBLE_GAIN if model.isInfinity(cutoff) else max(cutoff - bound, 0.0)
    scores = np.empty(len(variables))
    gains = np.empty((2, len(variables)))
    model.startStrongbranch()
    try:
        for position, variable in enumerate(variables):
            down, up, down_valid, up_valid, down_infeasible, up_infeasible, _, _, failed = (
                model.getVarStrongbranch(variable, _NO_LIMIT, idempotent=True)
            )
            if failed or not (down_valid or down_infeasible) or not (up_valid or up_infeasible):
                return None
            both = [
                room if infeasible else min(max(value - bound, 0.0), room)
                for value, infeasible in ((down, down_infeasible), (up, up_infeasible))
            ]
            gains[:, position] = both
            scores[position] = model.getBranchScoreMultiple(variable, both)
    finally:
        model.endStrongbranch()
    return {"scores": scores, "gains": gains, "room": np.array([room])}


@dataclass(frozen=True)
class Recording:
    """The decisions of one instance, and how its solve ended."""

    decisions: Decisions
    status: str  # SCIP's word for it
    unscored: int  # nodes where strong branching failed: pseudocosts branched and nothing was recorded
    nodes: tuple[Node, ...] = ()  # of the decisions, if they were asked for


class _Expert(LpBranchrule):
    def __init__(self, instance: str, quota: int | None, share: float, observe: bool) -> None:
        self.instance = instance
        self.quota = quota
        self.share = share
        self.observe = observe
        self.rng = np.random.default_rng(0)
        self.nodes: list[Node] = []
        self.decisions: list[Decisions] = []
        self.unscored = 0

    def branchinitsol(self) -> None:
        self.extractor = FeatureExtractor(self.solved)

    def branchexeclp(self, allowaddcons: bool) -> dict[str, int]:
        model = self.solved
        result = None
        if self.decisions and self.rng.random() >= self.share:  # the first is always recorded
            return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}
        if model.getLPSolstat() == pyscipopt.SCIP_LPSOLSTAT.OPTIMAL:  # an unbounded LP has candidates as well
            probindex, features = self.extractor.extract()
            variables, _, _, _, n, _ = model.getLPBranchCands()
            if self.observe:  # before strong branching changes the LP
                observed = self.extractor.observe()
            result = strong_branching(model, variables[:n])
        if result is None:
            self.unscored += 1
            return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}
        if n > 1:
            node = model.getCurrentNode()
            if self.observe:
                self.nodes.append(sharing(observed[:n], self.nodes[-1] if self.nodes else None))
            self.decisions.append(
                Decisions(
                    columns=np.ascontiguousarray(features[:n].T),
                    **result,
                    offsets=np.array([0, n]),
                    probindex=probindex[:n],
                    node=np.array([node.getNumber()]),
                    depth=np.array([node.getDepth()]),
                    instance=(self.instance,),
                )
            )
        if self.quota is not None and len(self.decisions) >= self.quota:
            model.interruptSolve()
        model.branchVar(variables[int(np.argmax(result["scores"]))])
        return {"result": pyscipopt.SCIP_RESULT.BRANCHED}


def record_decisions(
    path: Path,
    instance: str,
    *,
    settings: SolveSettings,
    quota: int | None,
    share: float = 1.0,
    observe: bool = False,
    rest: Method | None = None,
) -> Recording:
    """Solve one instance under the expert until `quota` decisions are recorded, with their nodes if `observe`.

    The expert branches at a random `share` of the nodes, pseudocosts at the others; a tree too small for the quota is
    solved again at a larger share. Nodes with one candidate are not recorded. The model gets all of the `rest` of a
    configuration. Raises `InstanceError`, `SolverError`,
    and `InterruptedSolveError` if a signal ended the solve before the quota was reached.
    """
    repeated = False
    while True:
        model = read_model(path)
        apply(settings, model)
        if rest is not None:
            rest.attach(model)
            give(rest, model, lambda _: None)
        expert = _Expert(instance, quota, share, observe)
        expert.include(model, "expert", "strong branching, recorded")
        put_in_charge(model, "expert", "pscost")
        optimize(model, f"collecting decisions from {path.name}")
        status, recorded = model.getStatus(), len(expert.decisions)
        if status in INTERRUPTED and (quota is None or recorded < quota):
            raise InterruptedSolveError(f"Collecting decisions from {path.name} was interrupted.")
        if repeated or quota is None or share == 1 or status == "timelimit" or not 0 < recorded < quota:
            return Recording(concatenate(expert.decisions), status, expert.unscored, tuple(expert.nodes))
        share, repeated = min(share * quota / recorded, 1.0), True
