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
from bife_core.solver.scip.libscip import check, library, scip_address
from bife_core.solver.scip.settings import HIGHEST_PRIORITY, put_in_charge

PLUGIN_NAME: Final = "bife"


class Guard(Value):
    """Conditions under which `attach` falls back to reliability pseudocost branching (RPB).

    A guarded rule is asked only while its time stays within bounds, which is looked at anew at every branching, and its
    answer counts only if at least one score is finite. Each fallback is counted (`BranchingStats`).
    """

    max_share: float = Field(
        0.1, gt=0, le=1, description="Share of the solving time features and rule may take together."
    )
    grace_s: float = Field(
        0.2,
        ge=0,
        le=1e9,
        description="Seconds they may take in any case, so that short solves are left alone.",
    )


class Budget(Value):
    """How much RPB may strong-branch before a rule branches instead.

    RPB branches for as long as its strong branching has taken no more than a share of all LP iterations, and begins
    only once what it is expected to take at its first node is within the share too. Iterations, not seconds, are
    counted: a solve branches alike on every machine.
    """

    share: float = Field(
        gt=0,
        lt=1,
        description="Share of all LP iterations that strong branching may take; beyond it the rule branches.",
    )
    returns: bool = Field(
        True, description="Whether RPB branches again once its share is back within the budget."
    )

    def __str__(self) -> str:
        return f"{self.share!r}" + ("" if self.returns else ",once")


FALLBACKS: Final = ("undecided", "rule_errors", "overtime", "featureless")
"""Counters of the branchings on LP solutions that were a rule's to decide and that it did not."""


def as_guard(guard: bool | Guard | None) -> Guard | None:
    """Return the settings that ``guard=`` names: True means the defaults, False none."""
    return Guard() if guard is True else guard or None


@dataclass(frozen=True)
class _Counter:
    slot: int

    def __get__(self, stats: BranchingStats | None, owner: object = None) -> int:
        return 0 if stats is None else int(stats._state[self.slot])


class _Seconds(_Counter):
    def __get__(self, stats: BranchingStats | None, owner: object = None) -> float:  # type: ignore[override]
        return super().__get__(stats) * 1e-9


class BranchingStats:
    """Counters of an attached rule; they go on counting while the model is being solved.

    Attributes
    ----------
    calls, candidates : int
        Branchings the rule was asked for, and candidates it scored.
    feature_s, rule_s, callback_s : float
        CPU seconds of the solving thread spent in features, in the rule and in the whole callback.
    undecided : int
        Branchings that fell back to SCIP's next rule, since no score was above minus infinity (finite, under a guard).
    rule_errors : int
        Those that fell back because the scorer raised; a rule never does.
    overtime : int
        Those that fell back to RPB, because the rule had used up the guard's share of time.
    featureless : int
        Those that fell back because the system had no memory for the features.
    within_budget : int
        Nodes that were left to RPB, because its strong branching was within the budget; these are no fallbacks.
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
    """Raise a `SolverError` if a model can take no rule: it has one, or is being solved."""
    if model.getStage() > pyscipopt.SCIP_STAGE.PROBLEM:
        raise SolverError(
            "This model was solved or is being solved; attach before optimize, or after freeTransform()."
        )
    if library().SCIPfindBranchrule(ctypes.c_void_p(scip_address(model)), PLUGIN_NAME.encode()):
        raise SolverError("This model already has a BiFE rule attached; attach another one to a fresh Model.")


def attach_scorer(
    model: pyscipopt.Model, scorer: Any, guard: bool | Guard | None = None, budget: Budget | None = None
) -> BranchingStats:
    """Let a `BaseScorer` choose the branching variable; `bife_core.attach` describes it."""
    # Compilers are loaded by who branches, not by who only names a rule.
    from bife_core.solver.scip.compiled import callback
    from bife_core.solver.scip.compiled.needs import mask_of
    from bife_core.solver.scip.python_branching import CopyNotice, in_python

    address, features = scorer.address, mask_of(scorer.features)
    check_free(model)
    handle = library()
    scip = ctypes.c_void_p(scip_address(model))
    stats = BranchingStats()
    state = stats._state
    limits = as_guard(guard)
    if limits is not None:
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
    state[layout.MASK] = features
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
    for kind, called in (("ExecLp", callback.branch_on_lp), ("Initsol", callback.begin_solve)):
        set_callback = handle[f"SCIPsetBranchrule{kind}"]
        check(set_callback(scip, plugin, ctypes.c_void_p(called.address)), "set a branching callback")
    # SCIP holds bare addresses: the scorer's function and the state must live as long as the model does.
    weakref.finalize(model, layout.free_state, state, scorer, function)
    put_in_charge(model, PLUGIN_NAME, *([] if limits is None and budget is None else ["relpscost"]))
    CopyNotice(model, scorer.name)
    return stats
