"""Branching by a scorer that is called from Python."""

from __future__ import annotations

import time
import warnings
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyscipopt

from bife_core.errors import SolverError
from bife_core.scip.compiled import callback, layout
from bife_core.scip.extractor import FeatureExtractor
from bife_core.scip.guard import Guard
from bife_core.scip.lp_branchrule import LpBranchrule


class Scoring(Protocol):
    """What branching needs to know of what scores candidates; a compiled rule or a `Scorer` is one."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def features(self) -> frozenset[int] | None: ...  # noqa: D102

    @property
    def address(self) -> int: ...  # noqa: D102

    def score(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...  # noqa: D102


class PythonBranchrule(LpBranchrule):
    """The slow way, for scorers without machine code: one call of `score` per branching.

    What the scorer raises is counted and told once, and SCIP's next branching rule takes over.
    """

    def __init__(self, scorer: Scoring, state: npt.NDArray[np.int64], guard: Guard | None) -> None:
        self.scorer = scorer
        self.told = False
        self.state = state
        self.guard = guard

    def branchinitsol(self) -> None:  # noqa: D102 - SCIP's word for it
        self.extractor = FeatureExtractor(self.solved, self.scorer.features)
        if self.solved.getNRuns() <= 1:
            self.began = time.perf_counter()
            self.state[layout.SPENT_BEFORE] = self.state[layout.CALLBACK_NS]

    def _over_budget(self) -> bool:
        # The scorer may be waited for, which a CPU clock would not see, so this share is one of wall-clock time.
        if self.guard is None:
            return False
        spent = int(self.state[layout.CALLBACK_NS] - self.state[layout.SPENT_BEFORE])
        elapsed = time.perf_counter() - self.began
        return bool(
            callback.over_budget(spent, self.state[layout.GUARD_GRACE_NS], self.guard.max_share, elapsed)
        )

    def branchexeclp(self, allowaddcons: bool) -> dict[str, int]:  # noqa: D102
        state = self.state
        if self._over_budget():
            state[layout.OVERTIME] += 1
            return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}
        started = time.thread_time_ns()
        try:
            _, features = self.extractor.extract()
        except SolverError:
            state[layout.FEATURELESS] += 1
            return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}
        variables, _, _, _, n, _ = self.solved.getLPBranchCands()
        extracted = time.thread_time_ns()
        waited = time.perf_counter_ns()
        best = -1
        try:
            scores = np.ascontiguousarray(self.scorer.score(features[:n]), dtype=np.float64)
            if scores.shape != (n,):
                raise ValueError(f"{n} scores were expected, found an array of shape {scores.shape}")
            best = callback.usable_candidate(scores, self.guard is not None)
            state[layout.UNDECIDED] += best < 0
        except Exception as error:  # noqa: BLE001 - the code of others, inside a callback of SCIP
            state[layout.RULE_ERRORS] += 1
            if not self.told:
                self.told = True
                warnings.warn(f"{self.scorer.name} raised at a branching: {error!r}.", stacklevel=1)
        rule_ns = time.perf_counter_ns() - waited

        state[layout.CALLS] += 1
        state[layout.CANDIDATES] += n
        state[layout.FEATURE_NS] += extracted - started
        state[layout.RULE_NS] += rule_ns
        state[layout.CALLBACK_NS] += extracted - started + rule_ns
        if best < 0:
            return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}
        self.solved.branchVar(variables[best])
        return {"result": pyscipopt.SCIP_RESULT.BRANCHED}
