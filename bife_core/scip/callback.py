"""The branching callback SCIP calls, compiled: features, rule, argmax and branching without Python."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
from __future__ import annotations

from typing import Final

import numpy as np
from numba import int32, int64
from pyscipopt import SCIP_RESULT

from bife_core.native import c_callback, jit
from bife_core.scip import api
from bife_core.scip.kernel import extract, reset
from bife_core.scip.layout import (
    CALLBACK_NS,
    CALLS,
    CANDIDATES,
    CHOSEN,
    FEATURE_NS,
    MASK,
    MATRIX,
    NO_MEMORY,
    RULE_ERRORS,
    RULE_NS,
    SCORER,
    SCORES,
    SCRATCH,
    STATE_WORDS,
    UNDECIDED,
)
from bife_core.scip.memory import (
    call_scorer,
    cpu_nanoseconds,
    float64_view,
    int64_view,
    load_int64,
    store_int32,
)

_BRANCHED: Final = int(SCIP_RESULT.BRANCHED)
_DIDNOTRUN: Final = int(SCIP_RESULT.DIDNOTRUN)
_OKAY: Final = 1
_ERROR: Final = 0
_OUT_OF_MEMORY: Final = -1


@jit
def best_candidate(scores):
    """Return the position of the first largest score that is a number above -inf, or -1 if there is none."""
    best = -1
    highest = -np.inf
    for c in range(len(scores)):
        if scores[c] > highest:  # false for NaN
            highest = scores[c]
            best = c
    return best


@c_callback(int32(int64, int64, int32, int64))
def branch_on_lp(scip, branchrule, allow_constraints, result):
    """Branch on the candidate the rule scores highest: SCIP's BRANCHEXECLP."""
    state = int64_view(api.branchrule_data(branchrule), STATE_WORDS)
    started = cpu_nanoseconds(state, SCRATCH)
    n, candidates = extract(scip, state, state[MASK], True)
    if n < 0:
        return _OUT_OF_MEMORY if n == NO_MEMORY else _ERROR
    extracted = cpu_nanoseconds(state, SCRATCH)
    failed = call_scorer(state[SCORER], state[MATRIX], n, state[SCORES])
    scored = cpu_nanoseconds(state, SCRATCH)
    best = best_candidate(float64_view(state[SCORES], n))

    state[CALLS] += 1
    state[CANDIDATES] += n
    state[FEATURE_NS] += extracted - started
    state[RULE_NS] += scored - extracted
    code = _OKAY
    if failed != 0 or best < 0:
        state[RULE_ERRORS if failed != 0 else UNDECIDED] += 1
        store_int32(result, _DIDNOTRUN)
    else:
        state[CHOSEN] = best
        code = api.branch_var(scip, load_int64(candidates, best), 0, 0, 0)
        store_int32(result, _BRANCHED)
    state[CALLBACK_NS] += cpu_nanoseconds(state, SCRATCH) - started
    return code


@c_callback(int32(int64, int64))
def begin_solve(scip, branchrule):
    """Forget what belongs to an earlier solve of the same model: SCIP's BRANCHINITSOL."""
    reset(int64_view(api.branchrule_data(branchrule), STATE_WORDS))
    return _OKAY
