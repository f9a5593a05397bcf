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
    """Base of the branching rules written in Python here; they define `branchexeclp`.

    PySCIPOpt ends the solve with an error if a rule does not answer where there is no LP solution.
    """

    model: Any

    def include(self, model: pyscipopt.Model, name: str, about: str) -> None:
        """Put the rule into a model, which it knows as `solved`: holding each other, neither would ever be freed."""
        self.solved = weakref.proxy(model)
        model.includeBranchrule(self, name, about, HIGHEST_PRIORITY, -1, 1.0)
        self.model = None

    def branchexecps(self, allowaddcons: bool) -> dict[str, int]:
        """Leave nodes without an LP solution to SCIP's next rule."""
        return _DID_NOT_RUN

    branchexecext = branchexecps


class CopyNotice(pyscipopt.Eventhdlr):  # type: ignore[misc]
    """Warns who copies a model that SCIP leaves the rule out of the copy."""

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


def in_python(scorer: Any, model: pyscipopt.Model, state: npt.NDArray[np.int64]) -> Any:
    """Return the C function of a `BaseScorer` without machine code: it calls `score`, once per branching.

    What the scorer raises is reported once, and SCIP's next branching rule takes over.
    """
    solved, warned = weakref.proxy(model), False

    def score(shown: int, n: int, out: int) -> int:
        nonlocal warned
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        found = layout.array_at(out, (n,), np.float64)
        found[:] = np.nan  # what a warning that raises leaves behind
        try:
            features = features_at(state, n, scorer.features)
            given = Node.at(shown, features) if scorer.observes else features
            scores = np.ascontiguousarray(scorer.score(given), dtype=np.float64)
            if scores.shape != (n,):
                raise ValueError(f"{n} scores were expected, found an array of shape {scores.shape}")
            found[:] = scores
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
            # It may have waited for something, which the CPU clock of compiled code does not see.
            waited = time.perf_counter_ns() - wall - (time.thread_time_ns() - cpu)
            state[layout.RULE_NS] += waited
            state[layout.CALLBACK_NS] += waited

    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(score)
