"""The branching callback SCIP calls, compiled: features, rule, argmax and branching without Python."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
from __future__ import annotations

from typing import Final

from pyscipopt import SCIP_RESULT

from bife_core.solver.jit import jit
from bife_core.solver.scip.compiled import api, layout
from bife_core.solver.scip.compiled.bipartite import observe
from bife_core.solver.scip.compiled.choices import best_candidate
from bife_core.solver.scip.compiled.kernel import extract, reset
from bife_core.solver.scip.compiled.memory import (
    CPU_CLOCK,
    WALL_CLOCK,
    call_scorer,
    float64_at,
    float64_view,
    int32_at,
    int64_at,
    int64_view,
    nanoseconds,
)

_BRANCHED: Final = int(SCIP_RESULT.BRANCHED)
_DIDNOTRUN: Final = int(SCIP_RESULT.DIDNOTRUN)
_OKAY: Final = 1
_FIRST_CANDIDATES: Final = 100
"""Most candidates that RPB strong-branches at a node, by SCIP's defaults."""


@jit
def guard_exceeded(scip, state, share):
    """Whether a guarded rule has used its share of the solving time, which is 0 if SCIP's clocks are off."""
    if state[layout.ON_THE_WALL]:
        elapsed_s = (nanoseconds(WALL_CLOCK, state, layout.SCRATCH) - state[layout.BEGAN_NS]) * 1e-9
    else:
        elapsed_s = api.solving_time(scip)
    spent_ns = state[layout.CALLBACK_NS] - state[layout.SPENT_BEFORE]
    return spent_ns > state[layout.GUARD_GRACE_NS] and elapsed_s > 0.0 and spent_ns > share * elapsed_s * 1e9


@jit
def within_budget(scip, state):
    """Whether RPB branches at this node, because strong branching is within the budget."""
    share = float64_at(state.ctypes.data)[layout.BUDGET_SHARE]
    if share <= 0.0 or state[layout.BUDGET_SPENT]:
        return False
    strong = float(api.n_strong_branching_iterations(scip))
    begun = strong > 0.0
    if not begun:
        # RPB begins with most candidates at once, which alone may be more than its share: two LPs each, as long as the
        # LPs were that have been solved again so far.
        n_lps = 2 * min(_FIRST_CANDIDATES, api.n_branch_cands(scip))
        strong = n_lps * api.n_dual_resolve_iterations(scip) / max(1, api.n_dual_resolves(scip))
    if strong <= share * (strong + api.n_lp_iterations(scip)):
        # RPB may tighten bounds and have the node processed again.
        node = api.n_total_nodes(scip)
        state[layout.WITHIN_BUDGET] += node != state[layout.BUDGET_NODE]
        state[layout.BUDGET_NODE] = node
        return True
    if begun and not state[layout.BUDGET_RETURNS]:
        state[layout.BUDGET_SPENT] = 1
    return False


@jit
def branch_on_lp(scip, branchrule, allow_constraints, result):
    """Branch on the candidate of the best score (BRANCHEXECLP), or leave the node to SCIP's next rule."""
    state = int64_view(api.branchrule_data(branchrule), layout.STATE_WORDS)
    int32_at(result)[0] = _DIDNOTRUN
    if within_budget(scip, state):
        return _OKAY
    share = float64_at(state.ctypes.data)[layout.GUARD_SHARE]
    if share > 0.0 and guard_exceeded(scip, state, share):
        state[layout.OVERTIME] += 1
        return _OKAY
    started = nanoseconds(CPU_CLOCK, state, layout.SCRATCH)
    n, candidates = extract(scip, state, state[layout.MASK], True)
    shown = state[layout.MATRIX]
    if n >= 0 and state[layout.OBSERVES] != 0:
        shown = observe(scip, state, candidates, n, state[layout.OBSERVES])
    if n < 0 or shown == 0:
        state[layout.FEATURELESS] += 1
        return _OKAY
    extracted = nanoseconds(CPU_CLOCK, state, layout.SCRATCH)
    failed = call_scorer(state[layout.SCORER], shown, n, state[layout.SCORES])
    if failed == layout.INTERRUPTED:
        return _OKAY
    scored = nanoseconds(CPU_CLOCK, state, layout.SCRATCH)
    best = best_candidate(float64_view(state[layout.SCORES], n), share > 0.0)

    state[layout.CALLS] += 1
    state[layout.CANDIDATES] += n
    state[layout.FEATURE_NS] += extracted - started
    state[layout.RULE_NS] += scored - extracted
    code = _OKAY
    if failed != 0 or best < 0:
        state[layout.RULE_ERRORS if failed != 0 else layout.UNDECIDED] += 1
    else:
        code = api.branch_var(scip, int64_at(candidates)[best], 0, 0, 0)
        int32_at(result)[0] = _BRANCHED
        if state[layout.BUDGET_NODE] == api.n_total_nodes(scip):  # where RPB was within its budget before
            state[layout.WITHIN_BUDGET] -= 1
            state[layout.BUDGET_NODE] = 0
    state[layout.CALLBACK_NS] += nanoseconds(CPU_CLOCK, state, layout.SCRATCH) - started
    return code


@jit
def begin_solve(scip, branchrule):
    """Forget an earlier solve of the same model (BRANCHINITSOL)."""
    state = int64_view(api.branchrule_data(branchrule), layout.STATE_WORDS)
    reset(state)
    if api.n_runs(scip) <= 1:  # not after a restart, where the solve goes on
        state[layout.SPENT_BEFORE] = state[layout.CALLBACK_NS]
        state[layout.BUDGET_SPENT] = state[layout.BUDGET_NODE] = 0
        state[layout.BEGAN_NS] = nanoseconds(WALL_CLOCK, state, layout.SCRATCH)
    return _OKAY
