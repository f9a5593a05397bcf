"""Branching from Python: the base of our branching rules, and how compiled code calls a scorer."""

from __future__ import annotations

import ctypes
import time
import warnings
import weakref
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyscipopt

from bife_core.solver.scip.compiled import layout
from bife_core.solver.scip.node import Node, features_at
from bife_core.solver.scip.settings import HIGHEST_PRIORITY

_OF_HEURISTICS: Final = (pyscipopt.SCIP_STAGE.PRESOLVING, pyscipopt.SCIP_STAGE.SOLVING)

_DID_NOT_RUN: Final = {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}


class LpBranchrule(pyscipopt.Branchrule):  # type: ignore[misc]
    """Base of branching rules in Python, which define `branchexeclp`: without an LP solution SCIP's next rule branches.

    PySCIPOpt ends the solve with an error if a rule does not answer there.
    """

    model: Any

    def include(self, model: pyscipopt.Model, name: str, about: str) -> None:
        """Include the rule in a model; it has a weak reference `solved`, since a cycle would never be freed."""
        self.solved = weakref.proxy(model)
        model.includeBranchrule(self, name, about, HIGHEST_PRIORITY, -1, 1.0)
        self.model = None

    def branchexecps(self, allowaddcons: bool) -> dict[str, int]:
        """Do nothing."""
        return _DID_NOT_RUN

    branchexecext = branchexecps


class CopyNotice(pyscipopt.Eventhdlr):  # type: ignore[misc]
    """Warns when a model is copied that the copy lacks the rule."""

    model: Any

    def __init__(self, model: pyscipopt.Model, rule: str) -> None:
        self.solved, self.rule = weakref.proxy(model), rule
        model.includeEventhdlr(self, "bife_copies", "says that copies lack the rule")
        self.model = None

    def eventcopy(self) -> None:
        """Warn, unless a heuristic of SCIP copies the model (EVENTCOPY)."""
        if self.solved.getStage() not in _OF_HEURISTICS:
            warnings.warn(
                f"A copy of this model branches without {self.rule}, and solveConcurrent solves copies: attach the "
                "rule to the copy, or call optimize.",
                stacklevel=2,
            )


def in_python(scorer: Any, model: pyscipopt.Model, state: npt.NDArray[np.int64]) -> Any:
    """Return a C function that calls `BaseScorer.score`; a warning reports the first exception of a solve."""
    solved, warned = weakref.proxy(model), False

    def score(shown: int, n: int, out: int) -> int:
        nonlocal warned
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        result = layout.array_at(out, (n,), np.float64)
        result[:] = np.nan  # which stay if a warning raises
        try:
            features = features_at(state, n, scorer.features)
            node = Node.at(shown, features) if scorer.observes else features
            scores = np.ascontiguousarray(scorer.score(node), dtype=np.float64)
            if scores.shape != (n,):
                raise ValueError(f"{n} scores were expected, found an array of shape {scores.shape}")
            result[:] = scores
            return 0
        except KeyboardInterrupt:  # with misc/catchctrlc off; it cannot pass through SCIP
            solved.interruptSolve()
            return layout.INTERRUPTED
        except BaseException as error:  # noqa: BLE001 - the code of others, inside a callback of SCIP
            if not warned:
                warned = True
                warnings.warn(f"{scorer.name} raised at a branching: {error!r}.", stacklevel=1)
            return 1
        finally:
            # Waiting is not on the CPU clock of compiled code.
            waited = time.perf_counter_ns() - wall - (time.thread_time_ns() - cpu)
            state[layout.RULE_NS] += waited
            state[layout.CALLBACK_NS] += waited

    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(score)
