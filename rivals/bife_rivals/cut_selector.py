"""A cut selector of SCIP that scores cuts by a written rule, compiled: features, rule and selection without Python.

It selects as SCIP's own `hybrid` does: the best cut, then the best of those that are not too parallel to it, and so on.
Only the score is another.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
from __future__ import annotations

import ctypes
import math
import weakref
from typing import Any, Final

import numpy as np
import pyscipopt
from numba import float64, int32, int64, types

from bife_core.extend import (
    api,
    c_callback,
    call_from_compiled_code,
    call_scorer,
    check,
    ensure_room,
    float64_view,
    free_state,
    int32_at,
    int64_at,
    int64_view,
    jit,
    library,
    scip_address,
)
from bife_rivals.cuts import CUTS

NAME: Final = "bife_cuts"
PRIORITY: Final = 1_000_000
_GOOD: Final = 0.9
"""Share of the best score from which on a cut may be more parallel to others, as for `hybrid`."""
_MOST_PARALLEL, _MOST_PARALLEL_GOOD = 0.1, 0.5
_SUCCESS: Final = int(pyscipopt.SCIP_RESULT.SUCCESS)
_DIDNOTFIND: Final = int(pyscipopt.SCIP_RESULT.DIDNOTFIND)
_OKAY: Final = 1
_EUCLIDEAN: Final = ord("e")
_WIDTH: Final = CUTS.n_features

# Words of the selector's state; a buffer has its address and its capacity.
_SCORER, CALLS, SHOWN, SELECTED, _MATRIX, _, _SCORES, _ = range(8)
_WORDS: Final = 8

_SCIP: Final = {
    "SCIPcutselGetData": int64(int64),
    "SCIPgetCutEfficacy": float64(int64, int64, int64),
    "SCIPgetCutLPSolCutoffDistance": float64(int64, int64, int64),
    "SCIPgetRowObjParallelism": float64(int64, int64),
    "SCIPgetRowNumIntCols": int32(int64, int64),
    "SCIPgetRowLPFeasibility": float64(int64, int64),
    "SCIProwGetParallelism": float64(int64, int64, int32),
    "SCIProwIsInGlobalCutpool": int32(int64),
    "SCIProwIsLocal": int32(int64),
    "SCIPgetNLPCols": int32(int64),
}
call_from_compiled_code(_SCIP)
(
    _data,
    _efficacy,
    _cutoff_distance,
    _objective_parallelism,
    _n_integer,
    _feasibility,
    _parallelism,
    _is_pooled,
    _is_local,
    _n_lp_columns,
) = (types.ExternalFunction(name, signature) for name, signature in _SCIP.items())


@jit
def _spread(total, squares, count):
    mean = total / count
    return math.sqrt(max(0.0, squares / count - mean * mean))


@jit
def _describe(scip, row, incumbent, forced, n_forced, out):
    """Write the features of a cut, in the order of `CUTS.features`."""
    n = int64(api.row_n_entries(row))
    out[0] = _efficacy(scip, 0, row)
    out[1] = out[0]
    if incumbent != 0 and _is_local(row) & 0xFF == 0:
        out[1] = max(out[0], _cutoff_distance(scip, incumbent, row))
    out[2] = _objective_parallelism(scip, row)
    out[3] = _n_integer(scip, row) / max(1, n)
    out[4] = n / max(1, int64(_n_lp_columns(scip)))
    infinity = api.infinity(scip)
    side = api.row_rhs(row) if api.row_rhs(row) < infinity else api.row_lhs(row)
    out[5] = max(0.0, -_feasibility(scip, row)) / max(1.0, abs(side - api.row_constant(row)))
    cols, values = api.row_cols(row), float64_view(api.row_vals(row), n)
    for place in range(6, 14):
        out[place] = 0.0
    if n > 0:
        total = squares = objective = objective_squares = 0.0
        for k in range(n):
            value, cost = values[k], api.col_obj(int64_at(cols)[k])
            total += value
            squares += value * value
            objective += cost
            objective_squares += cost * cost
            out[7] = value if k == 0 else max(out[7], value)
            out[8] = value if k == 0 else min(out[8], value)
            out[11] = cost if k == 0 else max(out[11], cost)
            out[12] = cost if k == 0 else min(out[12], cost)
        out[6], out[9] = total / n, _spread(total, squares, n)
        out[10], out[13] = objective / n, _spread(objective, objective_squares, n)
    out[14] = 0.0
    for k in range(n_forced):
        out[14] = max(out[14], _parallelism(row, int64_at(forced)[k], _EUCLIDEAN))
    out[15] = 1.0 if _is_pooled(row) & 0xFF else 0.0


@jit
def _swap(cuts, scores, place, other):
    first = int64_at(cuts)[place]
    int64_at(cuts)[place] = int64_at(cuts)[other]
    int64_at(cuts)[other] = first
    scores[place], scores[other] = scores[other], scores[place]


@jit
def _filter(row, cuts, scores, start, stop, good):
    """Move cuts that are too parallel to a row behind `stop`, and return where those that are left stop."""
    for place in range(stop - 1, start - 1, -1):
        most = _MOST_PARALLEL_GOOD if scores[place] >= good else _MOST_PARALLEL
        if _parallelism(row, int64_at(cuts)[place], _EUCLIDEAN) > most:
            stop -= 1
            _swap(cuts, scores, place, stop)
    return stop


@c_callback(int32(int64, int64, int64, int32, int64, int32, int32, int32, int64, int64))
def _select(scip, selector, cuts, n, forced, n_forced, root, most, n_selected, result):
    """Sort the cuts that are selected to the front: SCIP's CUTSELSELECT.

    Without memory, or where the rule fails, SCIP's next cut selector takes over.
    """
    state = int64_view(_data(selector), _WORDS)
    int32_at(n_selected)[0] = 0
    int32_at(result)[0] = _DIDNOTFIND
    if not (ensure_room(state, _MATRIX, n * _WIDTH) and ensure_room(state, _SCORES, n)):
        return _OKAY
    incumbent = api.best_solution(scip)
    for k in range(n):
        out = float64_view(state[_MATRIX] + 8 * k * _WIDTH, _WIDTH)
        _describe(scip, int64_at(cuts)[k], incumbent, forced, n_forced, out)
    if call_scorer(state[_SCORER], state[_MATRIX], n, state[_SCORES]) != 0:
        return _OKAY
    scores = float64_view(state[_SCORES], n)
    best = 0.0
    for k in range(n):
        if not scores[k] >= 0.0:  # nor NaN
            scores[k] = -1.0
        best = max(best, scores[k])
    good = _GOOD * best
    start, stop = int64(0), int64(n)
    for k in range(n_forced):
        stop = _filter(int64_at(forced)[k], cuts, scores, start, stop, good)
    while start < stop and start < most:
        highest = start
        for k in range(start + 1, stop):
            if scores[k] > scores[highest]:
                highest = k
        if scores[highest] < 0.0:
            break
        _swap(cuts, scores, start, highest)
        start += 1
        stop = _filter(int64_at(cuts)[start - 1], cuts, scores, start, stop, good)
    state[CALLS] += 1
    state[SHOWN] += n
    state[SELECTED] += start
    int32_at(n_selected)[0] = start
    int32_at(result)[0] = _SUCCESS
    return _OKAY


def attach(model: pyscipopt.Model, rule: Any) -> np.ndarray:
    """Put a cut selector in charge that scores by a rule's machine code; return its counters, which go on."""
    state = np.zeros(_WORDS, dtype=np.int64)
    state[_SCORER] = rule.address
    selector = ctypes.c_void_p()
    included = library().SCIPincludeCutselBasic(
        ctypes.c_void_p(scip_address(model)),
        ctypes.byref(selector),
        NAME.encode(),
        b"scores cuts by a rule",
        ctypes.c_int(PRIORITY),
        ctypes.c_void_p(_select.address),
        ctypes.c_void_p(state.ctypes.data),
    )
    check(included, "include the cut selector")
    # SCIP holds bare addresses: state and machine code must live as long as the model does.
    weakref.finalize(model, free_state, state, rule, slots=(_MATRIX, _SCORES))
    return state
