"""Put a branching rule in charge of any PySCIPOpt model."""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyscipopt
from pydantic import Field

from bife_core.base.errors import SolverError
from bife_core.base.values import Value
from bife_core.solver.scip.compiled import layout
from bife_core.solver.scip.compiled.masks import mask_of
from bife_core.solver.scip.libscip import check, library, scip_address
from bife_core.solver.scip.settings import HIGHEST_PRIORITY, put_in_charge
from bife_core.solver.units import FEATURES

PLUGIN_NAME: Final = "bife"


class Guard(Value):
    """When reliability pseudocost branching (RPB) takes over from a rule; `BranchingStats` counts it.

    It does at each branching where the rule's share of time is above the bound, or no score is finite.
    """

    max_share: float = Field(0.1, gt=0, le=1, description="Share of the solving time for features and rule.")
    grace_s: float = Field(
        0.2, ge=0, le=1e9, description="Seconds they may take in any case, for the sake of short solves."
    )


class Budget(Value):
    """How much RPB may strong-branch before a rule branches instead.

    RPB branches while its strong branching has taken no more than a share of all LP iterations, and begins once the
    iterations expected at its first node are within the share. Iterations are the same on every machine.
    """

    share: float = Field(
        gt=0, lt=1, description="Share of LP iterations for strong branching; beyond it the rule branches."
    )
    returns: bool = Field(True, description="Whether RPB branches again once it is back within the budget.")

    def __str__(self) -> str:
        return f"{self.share!r}" + ("" if self.returns else ",once")


FALLBACKS: Final = ("undecided", "rule_errors", "overtime", "featureless")
"""Counters of the branchings on LP solutions that a rule should decide and did not."""


def as_guard(guard: bool | Guard | None) -> Guard | None:
    """Return the guard of an argument: True means the defaults, False none."""
    return Guard.model_construct() if guard is True else guard or None


@dataclass(frozen=True)
class _Counter:
    slot: int

    def __get__(self, stats: BranchingStats | None, owner: object = None) -> int:
        return 0 if stats is None else int(stats._state[self.slot])


class _Seconds(_Counter):
    def __get__(self, stats: BranchingStats | None, owner: object = None) -> float:  # type: ignore[override]
        return super().__get__(stats) * 1e-9


class BranchingStats:
    """Live counters of an attached rule.

    Attributes
    ----------
    calls, candidates : int
        Branchings the rule was called at, and candidates it scored.
    feature_s, rule_s, callback_s : float
        CPU seconds of the solving thread in features, in the rule and in the whole callback.
    undecided, rule_errors, overtime, featureless : int
        Branchings that fell back: no score was above minus infinity (under a guard: finite); the scorer raised; the
        rule had used up the guard's share of time; the system had no memory for the features.
    within_budget : int
        Nodes left to RPB because its strong branching was within the budget; these are no fallbacks.
    """

    calls = _Counter(layout.CALLS)
    candidates = _Counter(layout.CANDIDATES)
    feature_s = _Seconds(layout.FEATURE_NS)
    rule_s = _Seconds(layout.RULE_NS)
    callback_s = _Seconds(layout.CALLBACK_NS)
    undecided = _Counter(layout.UNDECIDED)
    rule_errors = _Counter(layout.RULE_ERRORS)
    overtime = _Counter(layout.OVERTIME)
    featureless = _Counter(layout.FEATURELESS)
    within_budget = _Counter(layout.WITHIN_BUDGET)

    def __repr__(self) -> str:
        counts = ("calls", "candidates", "undecided", "rule_errors", "overtime", "within_budget")
        return f"BranchingStats({', '.join(f'{name}={getattr(self, name)}' for name in counts)})"

    def __init__(self) -> None:
        self._state = layout.new_state()

    @property
    def fallbacks(self) -> int:
        """All branchings on LP solutions that the rule did not decide."""
        return sum(getattr(self, counter) for counter in FALLBACKS)

    def counts(self) -> dict[str, Any]:
        """Return all counters by name."""
        return {
            name: getattr(self, name) for name, kind in vars(type(self)).items() if isinstance(kind, _Counter)
        }


def check_free(model: pyscipopt.Model) -> None:
    """Raise a `SolverError` if a model has a rule or was solved."""
    if model.getStage() > pyscipopt.SCIP_STAGE.PROBLEM:
        raise SolverError("This model is or was solved; attach before optimize, or after freeTransform().")
    if library().SCIPfindBranchrule(ctypes.c_void_p(scip_address(model)), PLUGIN_NAME.encode()):
        raise SolverError("This model already has a BiFE rule attached; attach another one to a fresh Model.")


def attach_scorer(
    model: pyscipopt.Model, scorer: Any, guard: bool | Guard | None = None, budget: Budget | None = None
) -> BranchingStats:
    """Let a `BaseScorer` choose the branching variable; `bife_core.attach` describes it."""
    from bife_core.solver.scip.python_branching import CopyNotice, in_python

    address, mask = scorer.address, mask_of(scorer.features)
    check_free(model)
    handle, scip = library(), ctypes.c_void_p(scip_address(model))
    stats = BranchingStats()
    state = stats._state
    if (limits := as_guard(guard)) is not None:
        state[layout.GUARD_SHARE] = np.float64(limits.max_share).view(np.int64)
        state[layout.GUARD_GRACE_NS] = round(limits.grace_s * 1e9)
    if budget is not None:
        state[layout.BUDGET_SHARE] = np.float64(budget.share).view(np.int64)
        state[layout.BUDGET_RETURNS] = budget.returns
    function = None
    if not address:
        function = in_python(scorer, model, state)
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        state[layout.ON_THE_WALL] = True
    state[layout.SCORER] = address
    state[layout.OBSERVES] = scorer.observes
    state[layout.NODE_DATA] = scorer.data
    state[layout.MASK] = mask
    plugin = ctypes.c_void_p()
    included = handle.SCIPincludeBranchruleBasic(
        scip,
        ctypes.byref(plugin),
        PLUGIN_NAME.encode(),
        scorer.name.encode(),
        ctypes.c_int(HIGHEST_PRIORITY),
        ctypes.c_int(-1),
        ctypes.c_double(1.0),
        ctypes.c_void_p(state.ctypes.data),
    )
    check(included, "include the branching rule")
    for kind, name in (("ExecLp", "branch_on_lp"), ("Initsol", "begin_solve")):
        set_callback = handle[f"SCIPsetBranchrule{kind}"]
        check(set_callback(scip, plugin, ctypes.c_void_p(FEATURES.address(name))), "set a branching callback")
    # SCIP holds bare addresses: the scorer's function and the state must live as long as the model.
    weakref.finalize(model, layout.free_state, state, scorer, function)
    put_in_charge(model, PLUGIN_NAME, *([] if limits is None and budget is None else ["relpscost"]))
    CopyNotice(model, scorer.name)
    return stats
