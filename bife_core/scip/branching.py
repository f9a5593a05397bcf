"""Put a branching rule in charge of any PySCIPOpt model."""

from __future__ import annotations

import ctypes
import time
import weakref
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyscipopt

from bife_core.errors import RuleError, SolverError
from bife_core.rules import load_rule
from bife_core.rules.types import CompiledRule
from bife_core.scip.compiled import callback, layout
from bife_core.scip.compiled.needs import mask_of
from bife_core.scip.extractor import FeatureExtractor
from bife_core.scip.guard import Guard, as_guard
from bife_core.scip.libscip import check, library, scip_address
from bife_core.scip.lp_branchrule import LpBranchrule

PLUGIN_NAME = "bife"
_PRIORITY = 10_000_000
"""Above every branching rule SCIP brings; those run where the rule hands over."""


@dataclass(frozen=True, eq=False)
class BranchingStats:
    """Counters of an attached rule; they go on counting while the model is being solved.

    Read them at any time. Seconds are CPU seconds of the solving thread.
    """

    _state: npt.NDArray[np.int64]

    def _word(self, slot: int) -> int:
        return int(self._state[slot])

    @property
    def calls(self) -> int:
        """Branchings the rule was asked for."""
        return self._word(layout.CALLS)

    @property
    def candidates(self) -> int:
        """Candidates scored over all calls."""
        return self._word(layout.CANDIDATES)

    @property
    def feature_s(self) -> float:
        """Seconds spent in extracting features."""
        return self._word(layout.FEATURE_NS) * 1e-9

    @property
    def rule_s(self) -> float:
        """Seconds spent in the rule itself."""
        return self._word(layout.RULE_NS) * 1e-9

    @property
    def callback_s(self) -> float:
        """Seconds spent in the whole callback, features and rule included."""
        return self._word(layout.CALLBACK_NS) * 1e-9

    @property
    def undecided(self) -> int:
        """Branchings handed to SCIP's next rule because no score was usable.

        Usable is a number above minus infinity; under a guard, a finite one.
        """
        return self._word(layout.UNDECIDED)

    @property
    def rule_errors(self) -> int:
        """Branchings handed to SCIP's next rule because the rule raised."""
        return self._word(layout.RULE_ERRORS)

    @property
    def overtime(self) -> int:
        """Branchings handed to RPB, the rule not being asked, because it had used up the guard's share of time."""
        return self._word(layout.OVERTIME)

    @property
    def featureless(self) -> int:
        """Branchings handed to SCIP's next rule because the system had no memory for their features.

        That is no fault of the rule, which was not asked.
        """
        return self._word(layout.FEATURELESS)

    @property
    def handed_over(self) -> int:
        """All branchings on LP solutions that the rule did not decide."""
        return self.undecided + self.rule_errors + self.overtime + self.featureless


class _InterpretedBranchrule(LpBranchrule):
    """The slow way, for rules numba cannot compile: one call into the rule's worker process per branching."""

    def __init__(self, rule: CompiledRule, state: npt.NDArray[np.int64], guard: Guard | None) -> None:
        self.rule = rule
        self.state = state
        self.guard = guard

    def branchinitsol(self) -> None:
        self.extractor = FeatureExtractor(self.model, self.rule.features)
        if self.model.getNRuns() <= 1:
            self.began = time.perf_counter()
            self.state[layout.SPENT_BEFORE] = self.state[layout.CALLBACK_NS]

    def _over_budget(self) -> bool:
        # The rule is waited for, which a CPU clock would not see, so this share is one of wall-clock time.
        if self.guard is None:
            return False
        spent = int(self.state[layout.CALLBACK_NS] - self.state[layout.SPENT_BEFORE])
        elapsed = time.perf_counter() - self.began
        return bool(
            callback.over_budget(spent, self.state[layout.GUARD_GRACE_NS], self.guard.max_share, elapsed)
        )

    def branchexeclp(self, allowaddcons: bool) -> dict[str, int]:
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
        variables, _, _, _, n, _ = self.model.getLPBranchCands()
        extracted = time.thread_time_ns()
        waited = time.perf_counter_ns()
        best = -1
        try:
            best = callback.usable_candidate(self.rule.score(features[:n]), self.guard is not None)
            state[layout.UNDECIDED] += best < 0
        except RuleError:
            state[layout.RULE_ERRORS] += 1
        rule_ns = time.perf_counter_ns() - waited

        state[layout.CALLS] += 1
        state[layout.CANDIDATES] += n
        state[layout.FEATURE_NS] += extracted - started
        state[layout.RULE_NS] += rule_ns
        state[layout.CALLBACK_NS] += extracted - started + rule_ns
        if best < 0:
            return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}
        self.model.branchVar(variables[best])
        return {"result": pyscipopt.SCIP_RESULT.BRANCHED}


def attach(model: pyscipopt.Model, rule: CompiledRule | str, guard: bool | Guard = False) -> BranchingStats:
    """Let `rule` choose the branching variable whenever an LP solution is branched on.

    Where SCIP branches on something else (nodes without an LP, nonlinear and special ordered set constraints) the
    rule is not asked, and where it gives no usable score SCIP's next branching rule takes over. Of candidates with
    branching priorities set by the user, only those of the highest are scored. `docs/solver-trouble.md` goes
    through every case.

    Parameters
    ----------
    model : pyscipopt.Model
        Any model, before `optimize`. One rule may be attached to it.
    rule : CompiledRule or str
        From `load_rule` or `compile_rule`, or what `load_rule` takes.
    guard : bool or Guard
        Whether RPB takes over where the rule gives no finite score or takes more than a share of the solving time;
        `Guard` sets the share. With it, RPB (relpscost) gets the highest priority after the rule.

    Returns
    -------
    BranchingStats
        Live counters.

    Raises
    ------
    SolverError
        If the model already has a rule, or SCIP refuses the plugin.
    RuleError
        If a reference cannot be loaded.

    Examples
    --------
    >>> import pyscipopt, bife_core
    >>> model = pyscipopt.Model()
    >>> stats = bife_core.attach(model, "pseudocost_product")
    """
    if isinstance(rule, str):
        rule = load_rule(rule)
    handle = library().handle
    scip = ctypes.c_void_p(scip_address(model))
    if handle.SCIPfindBranchrule(scip, PLUGIN_NAME.encode()):
        raise SolverError("This model already has a BiFE rule attached; attach another one to a fresh Model.")
    state = layout.new_state()
    stats = BranchingStats(state)
    limits = as_guard(guard)
    if limits is not None:
        layout.set_guard(state, limits.max_share, limits.grace_s)
        model.setParam("branching/relpscost/priority", _PRIORITY - 1)
    if not rule.native:
        model.includeBranchrule(
            _InterpretedBranchrule(rule, state, limits), PLUGIN_NAME, rule.name, _PRIORITY, -1, 1.0
        )
        return stats
    state[layout.SCORER] = rule.address
    state[layout.MASK] = mask_of(rule.features)
    branchrule = ctypes.c_void_p()
    check(
        handle.SCIPincludeBranchruleBasic(
            scip,
            ctypes.byref(branchrule),
            PLUGIN_NAME.encode(),
            rule.name.encode(),
            ctypes.c_int(_PRIORITY),
            ctypes.c_int(-1),
            ctypes.c_double(1.0),
            ctypes.c_void_p(state.ctypes.data),
        ),
        "include the branching rule",
    )
    check(
        handle.SCIPsetBranchruleExecLp(scip, branchrule, ctypes.c_void_p(callback.branch_on_lp.address)),
        "set the branching callback",
    )
    check(
        handle.SCIPsetBranchruleInitsol(scip, branchrule, ctypes.c_void_p(callback.begin_solve.address)),
        "set the callback that begins a solve",
    )
    # SCIP holds bare addresses: the rule's machine code and the state must live as long as the model does.
    weakref.finalize(model, _release, state, rule)
    return stats


def _release(state: npt.NDArray[np.int64], rule: CompiledRule) -> None:
    layout.free_state(state)
