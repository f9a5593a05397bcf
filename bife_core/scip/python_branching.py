"""Branching from Python: the base of our branching rules, and the one that calls a scorer."""

from __future__ import annotations

import time
import warnings
import weakref
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyscipopt

from bife_core.errors import SolverError
from bife_core.scip.compiled import callback, layout
from bife_core.scip.extractor import FeatureExtractor
from bife_core.scip.libscip import scip_address
from bife_core.scip.solver import HIGHEST_PRIORITY

_DID_NOT_RUN: Final = {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}

_OF_HEURISTICS: Final = (pyscipopt.SCIP_STAGE.PRESOLVING, pyscipopt.SCIP_STAGE.SOLVING)


class Scoring(Protocol):
    """What branching needs to know of what scores candidates; a compiled rule or a `Scorer` is one."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def features(self) -> frozenset[int] | None: ...  # noqa: D102

    @property
    def address(self) -> int: ...  # noqa: D102

    def score(self, X: Any, /) -> npt.NDArray[np.float64]: ...  # noqa: D102


class Branching(Scoring, Protocol):
    """What branching needs to know besides: what to show of a node, and what to pass on to machine code."""

    @property
    def observes(self) -> int: ...  # noqa: D102

    @property
    def data(self) -> int: ...  # noqa: D102


class LpBranchrule(pyscipopt.Branchrule):  # type: ignore[misc]
    """Base of the branching rules written in Python here; they define `branchexeclp`.

    SCIP also asks every rule where the node has no LP solution or where constraints offer candidates of their own,
    and PySCIPOpt ends the solve with an error if a rule does not answer.
    """

    model: Any

    def include(self, model: pyscipopt.Model, name: str, about: str) -> None:
        """Put the rule into a model, which it knows as `solved` and does not keep in memory.

        SCIP holds the rule, and PySCIPOpt has the rule hold the model: neither would ever be freed.
        """
        self.solved = weakref.proxy(model)
        model.includeBranchrule(self, name, about, HIGHEST_PRIORITY, -1, 1.0)
        self.model = None

    def branchexecps(self, allowaddcons: bool) -> dict[str, int]:
        """Leave a node without an LP solution, and candidates of nonlinear constraints, to SCIP's next rule."""
        return _DID_NOT_RUN

    branchexecext = branchexecps


class CopyNotice(pyscipopt.Eventhdlr):  # type: ignore[misc]
    """Warns whoever copies a model that SCIP leaves the rule out of the copy."""

    model: Any

    def __init__(self, model: pyscipopt.Model, rule: str) -> None:
        self.solved, self.rule = weakref.proxy(model), rule
        model.includeEventhdlr(self, "bife_copies", "says that copies lack the rule")
        self.model = None

    def eventcopy(self) -> None:
        """Warn, unless SCIP itself copies the model for one of its heuristics: SCIP's EVENTCOPY."""
        if self.solved.getStage() not in _OF_HEURISTICS:
            warnings.warn(
                f"A copy of this model branches without {self.rule}, and solveConcurrent solves copies: attach the "
                "rule to the copy, or call optimize.",
                stacklevel=2,
            )


class PythonBranchrule(LpBranchrule):
    """The slow way, for scorers without machine code: one call of `score` per branching.

    What the scorer raises is counted and reported once, and SCIP's next branching rule takes over.
    """

    def __init__(self, scorer: Branching, state: npt.NDArray[np.int64]) -> None:
        self.scorer = scorer
        self.warned = False
        self.state = state
        self.share = float(state[layout.GUARD_SHARE : layout.GUARD_SHARE + 1].view(np.float64)[0])

    def branchinitsol(self) -> None:
        """Forget an earlier solve: SCIP's BRANCHINITSOL."""
        self.extractor = FeatureExtractor(self.solved, self.scorer.features)
        if self.solved.getNRuns() <= 1:
            self.began = time.perf_counter()
            self.state[layout.SPENT_BEFORE] = self.state[layout.CALLBACK_NS]
            self.state[layout.BUDGET_SPENT] = self.state[layout.BUDGET_NODE] = 0

    def branchexeclp(self, allowaddcons: bool) -> dict[str, int]:
        """Branch on the candidate of the highest score: SCIP's BRANCHEXECLP."""
        try:
            return self._branch()
        except KeyboardInterrupt:  # with misc/catchctrlc off; raised here it would be an error of SCIP's
            self.solved.interruptSolve()
            return _DID_NOT_RUN

    def _branch(self) -> dict[str, int]:
        state = self.state
        if callback.within_budget(scip_address(self.solved), state):
            return _DID_NOT_RUN
        # The scorer may be waited for, which a CPU clock would not see, so the guard's share is one of wall time.
        elapsed = time.perf_counter() - self.began
        if self.share > 0 and callback.over_budget(state, self.share, elapsed):
            state[layout.OVERTIME] += 1
            return _DID_NOT_RUN
        started = time.thread_time_ns()
        try:
            observes = self.scorer.observes
            shown: Any = self.extractor.observe(observes) if observes else self.extractor.extract()[1]
        except SolverError:
            state[layout.FEATURELESS] += 1
            return _DID_NOT_RUN
        variables, _, _, _, n, _ = self.solved.getLPBranchCands()
        extracted = time.thread_time_ns()
        waited = time.perf_counter_ns()
        best = -1
        try:
            scores = np.ascontiguousarray(self.scorer.score(shown[:n]), dtype=np.float64)
            if scores.shape != (n,):
                raise ValueError(f"{n} scores were expected, found an array of shape {scores.shape}")
            best = callback.usable_candidate(scores, self.share > 0)
            state[layout.UNDECIDED] += best < 0
        except Exception as error:  # noqa: BLE001 - the code of others, inside a callback of SCIP
            state[layout.RULE_ERRORS] += 1
            if not self.warned:
                self.warned = True
                warnings.warn(f"{self.scorer.name} raised at a branching: {error!r}.", stacklevel=1)
        rule_ns = time.perf_counter_ns() - waited

        state[layout.CALLS] += 1
        state[layout.CANDIDATES] += n
        state[layout.FEATURE_NS] += extracted - started
        state[layout.RULE_NS] += rule_ns
        state[layout.CALLBACK_NS] += extracted - started + rule_ns
        if best < 0:
            return _DID_NOT_RUN
        self.solved.branchVar(variables[best])
        callback.take_back(scip_address(self.solved), state)
        return {"result": pyscipopt.SCIP_RESULT.BRANCHED}
