"""The 72 features at native speed: one compiled function over SCIP's LP, with no Python in its way.

`extract` follows `docs/features.md` value by value. Three things make it fast. What depends on a row alone is
taken once per row and call, not once per row and candidate. Sums over a row's entries, and which columns it has,
are kept between calls for as long as the row is the same. And each group of features is a pass of its own that
is skipped when the rule reads none of its members.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import numpy as np
from numba import float64, int64

from bife_core.features import N_FEATURES
from bife_core.machine_code import jit
from bife_core.scip.compiled import api, layout
from bife_core.scip.compiled.entries import forget_entries, rows_may_differ, same_row
from bife_core.scip.compiled.fetching import fetch_ahead, fetch_row
from bife_core.scip.compiled.memory import (
    ensure_room,
    fill,
    float64_view,
    int64_view,
    load_float64,
    load_int64,
)
from bife_core.scip.compiled.rows import by_row, take_row


@jit
def _forget_rows(state):
    state[layout.ARENA_USED] = 0
    state[layout.ARENA_DEAD] = 0
    for slot in (layout.ROW_TAG, layout.ROW_KEPT):
        fill(int64_view(state[slot], state[slot + 1]), 0, state[slot + 1], 0)


@jit
def reset(state):
    """Forget everything taken from a solve that has ended."""
    state[layout.STATIC_TAKEN] = 0
    _forget_rows(state)
    forget_entries(state)
    for slot in (layout.COL_STAMP, layout.COL_PSEUDO):
        fill(int64_view(state[slot], state[slot + 1]), 0, state[slot + 1], 0)


@jit
def _restart_if_new_solve(scip, state):
    """Forget the columns and rows of an earlier solve or of the run before a restart."""
    run = int64(api.n_runs(scip))
    lps = api.n_lps(scip)
    if run != state[layout.LAST_RUN] or lps < state[layout.LAST_LP]:
        reset(state)
    elif (
        state[layout.ARENA_DEAD] > layout.ARENA_SLACK
        and 2 * state[layout.ARENA_DEAD] > state[layout.ARENA_USED]
    ):
        _forget_rows(state)
    state[layout.LAST_RUN] = run
    state[layout.LAST_LP] = lps


@jit
def _take_static(state, col):
    """Take the static features of one column from the LP as it is now."""
    index = int64(api.col_index(col))
    room = ensure_room(state, layout.COL_STATIC, (index + 1) * layout.N_STATIC)
    if not (room and ensure_room(state, layout.COL_STAMP, index + 1)):
        return False
    int64_view(state[layout.COL_STAMP], index + 1)[index] = 1
    out = float64_view(state[layout.COL_STATIC] + 8 * index * layout.N_STATIC, layout.N_STATIC)
    fill(out, 0, layout.N_STATIC, 0.0)

    objective = api.col_obj(col)
    out[0] = objective
    out[1] = max(objective, 0.0)
    out[2] = min(objective, 0.0)

    rows = api.col_rows(col)
    vals = api.col_vals(col)
    count = 0
    n_pos = 0
    n_neg = 0
    degree_sum = 0.0
    pos_sum = 0.0
    neg_sum = 0.0
    for k in range(api.col_n_rows(col)):
        row = load_int64(rows, k)
        if api.row_lp_pos(row) < 0:
            continue
        degree = float64(api.row_n_entries(row))
        value = load_float64(vals, k)
        out[6] = degree if count == 0 else min(out[6], degree)
        out[7] = max(out[7], degree)
        count += 1
        degree_sum += degree
        if value > 0.0:
            out[11] = value if n_pos == 0 else min(out[11], value)
            out[12] = max(out[12], value)
            n_pos += 1
            pos_sum += value
        elif value < 0.0:
            out[16] = min(out[16], value)
            out[17] = value if n_neg == 0 else max(out[17], value)
            n_neg += 1
            neg_sum += value
    if count == 0:
        return True
    out[3] = count
    out[4] = degree_sum / count
    out[8] = n_pos
    out[13] = n_neg
    if n_pos > 0:
        out[9] = pos_sum / n_pos
    if n_neg > 0:
        out[14] = neg_sum / n_neg
    for k in range(api.col_n_rows(col)):
        row = load_int64(rows, k)
        if api.row_lp_pos(row) < 0:
            continue
        value = load_float64(vals, k)
        out[5] += (api.row_n_entries(row) - out[4]) ** 2
        if value > 0.0:
            out[10] += (value - out[9]) ** 2
        elif value < 0.0:
            out[15] += (value - out[14]) ** 2
    out[5] = np.sqrt(out[5] / count)
    if n_pos > 0:
        out[10] = np.sqrt(out[10] / n_pos)
    if n_neg > 0:
        out[15] = np.sqrt(out[15] / n_neg)
    return True


@jit
def _take_all_static(scip, state):
    """At the first branching of a solve: static features of every integer column of the LP."""
    scratch = state.ctypes.data + 8 * layout.SCRATCH
    fill(state, layout.SCRATCH, layout.SCRATCH + 2, 0)
    api.lp_cols(scip, scratch, scratch + 8)
    cols = state[layout.SCRATCH]
    for c in range(state[layout.SCRATCH + 1]):
        col = load_int64(cols, c)
        if api.col_is_integral(col) & 0xFF and not _take_static(state, col):
            return False
    state[layout.STATIC_TAKEN] = 1
    return True


@jit
def _mark_unfixed_integers(scip, state):
    """Stamp the columns of all unfixed integer variables with the present call."""
    scratch = state.ctypes.data + 8 * layout.SCRATCH
    fill(state, layout.SCRATCH, layout.SCRATCH + 3, 0)
    api.pseudo_cands(scip, scratch, scratch + 8, scratch + 16)
    variables = state[layout.SCRATCH]
    n = state[layout.SCRATCH + 1]
    for v in range(n):
        col = api.var_col(load_int64(variables, v))
        if col == 0:
            continue
        index = int64(api.col_index(col))
        if not ensure_room(state, layout.COL_PSEUDO, index + 1):
            return False
        int64_view(state[layout.COL_PSEUDO], index + 1)[index] = state[layout.CALL]
    return True


@jit
def _by_variable(scip, variable, value, mask, out):
    """Write the features of one candidate that need no row; `value` is its value in the LP solution."""
    fraction = api.feas_frac(scip, value)
    if mask & layout.NEEDS_FRACTIONALITY:
        out[18] = min(fraction, 1.0 - fraction)
        out[19] = 1.0 - fraction
    if mask & layout.NEEDS_PSEUDOCOST:
        up = (1.0 - fraction) * api.pseudocost(scip, variable, api.UP)
        down = fraction * api.pseudocost(scip, variable, api.DOWN)
        out[20] = up
        out[21] = down
        out[22] = max(min(up, down), 1e-5) / max(max(up, down), 1e-5)
        out[23] = up + down
        out[24] = up * down
    if mask & layout.NEEDS_CUTOFF:
        for at, direction in ((25, api.UP), (26, api.DOWN)):
            cutoffs = api.var_cutoff_sum(variable, direction)
            branchings = api.var_n_branchings(variable, direction)
            out[at] = cutoffs
            out[at + 2] = cutoffs / branchings if branchings != 0 else 0.0


@jit
def _take_all_rows(scip, state, mask, epsilon):
    """Take every row of the LP in order, each fetched well before it is needed, and see whether they are new."""
    rows = state[layout.LP_ROWS]
    n = state[layout.N_LP_ROWS]
    if not ensure_room(state, layout.ROW_IDENTITY, 2 * n):
        return False
    same = state[layout.N_KNOWN_ROWS] == n
    for position in range(n):
        if position + 12 < n:
            fetch_row(load_int64(rows, position + 12), mask)
        row = load_int64(rows, position)
        same &= same_row(state, row, position)
        if not take_row(scip, state, row, position, mask, epsilon):
            return False
    if not same:
        state[layout.LP_VERSION] += 1
    state[layout.N_KNOWN_ROWS] = n
    return True


@jit
def extract(scip, state, mask, only_priority):
    """Compute the features of the LP branching candidates into the buffer ``state[MATRIX]``.

    Parameters
    ----------
    scip : int
        Address of the SCIP*.
    state : (STATE_WORDS,) int64
    mask : int
        Bits of the groups to compute; columns of other groups hold no meaning.
    only_priority : bool
        Whether to stop after the candidates of highest branching priority.

    Returns
    -------
    (int, int)
        Number of candidates (`NO_MEMORY` if the system has none left, `NO_LP` if there is no LP solution), and
        address of their SCIP_VAR* array.
    """
    # SCIP complains on standard error when it is asked for candidates without an LP solution.
    status = api.lp_status(scip)
    if status != api.LP_OPTIMAL and status != api.LP_UNBOUNDED_RAY:
        return layout.NO_LP, int64(0)
    _restart_if_new_solve(scip, state)
    state[layout.CALL] += 1
    needs_static = mask & (layout.NEEDS_STATIC | layout.NEEDS_DEGREE) != 0
    if needs_static and state[layout.STATIC_TAKEN] == 0 and not _take_all_static(scip, state):
        return layout.NO_MEMORY, int64(0)
    if mask & layout.NEEDS_ACTIVE_3 and not _mark_unfixed_integers(scip, state):
        return layout.NO_MEMORY, int64(0)

    scratch = state.ctypes.data + 8 * layout.SCRATCH
    fill(state, layout.SCRATCH, layout.SCRATCH + 7, 0)
    if api.branch_cands(scip, scratch, scratch + 32, 0, scratch + 8, scratch + 16, scratch + 24) != 1:
        return layout.NO_LP, int64(0)
    candidates = state[layout.SCRATCH]
    n = state[layout.SCRATCH + 2] if only_priority else state[layout.SCRATCH + 1]
    if not (ensure_room(state, layout.MATRIX, n * N_FEATURES) and ensure_room(state, layout.SCORES, n)):
        return layout.NO_MEMORY, int64(0)
    state[layout.SCRATCH] = 0
    api.lp_rows(scip, state.ctypes.data + 8 * layout.LP_ROWS, scratch)
    n_lp_rows = state[layout.SCRATCH]
    state[layout.N_LP_ROWS] = n_lp_rows
    for slot in layout.BY_POSITION:
        if not ensure_room(state, slot, n_lp_rows):
            return layout.NO_MEMORY, int64(0)
    room = ensure_room(state, layout.ROW_KEPT, n_lp_rows * layout.N_ROW_KEPT)
    if not (room and ensure_room(state, layout.ROW_SUMS, n_lp_rows * layout.N_ROW_SUMS)):
        return layout.NO_MEMORY, int64(0)
    infinity = api.infinity(scip)
    epsilon = api.epsilon(scip)
    by_rows = mask & layout.NEEDS_BY_ROW != 0
    # Where candidates will meet most rows anyway, one pass over all of them waits less for memory.
    many = by_rows and 2 * state[layout.ROW_VISITS] > n_lp_rows
    if not many:
        rows_may_differ(state)
    elif not _take_all_rows(scip, state, mask, epsilon):
        return layout.NO_MEMORY, int64(0)
    state[layout.ROW_VISITS] = 0
    solution = state[layout.SCRATCH + 4]
    for c in range(n):
        fetch_ahead(state, candidates, c, n, mask)
        variable = load_int64(candidates, c)
        col = api.var_col(variable)
        out = float64_view(state[layout.MATRIX] + 8 * c * N_FEATURES, N_FEATURES)
        if needs_static:
            index = int64(api.col_index(col))
            unseen = index >= state[layout.COL_STAMP + 1] or load_int64(state[layout.COL_STAMP], index) == 0
            if unseen and not _take_static(state, col):
                return layout.NO_MEMORY, int64(0)
            for f in range(layout.N_STATIC):
                out[f] = load_float64(state[layout.COL_STATIC], index * layout.N_STATIC + f)
        _by_variable(scip, variable, load_float64(solution, c), mask, out)
        if by_rows and not by_row(scip, state, variable, col, mask, infinity, epsilon, out):
            return layout.NO_MEMORY, int64(0)
    return n, candidates


@jit
def probindices(candidates, out):
    """Write the problem index of each SCIP_VAR* in the array at address `candidates`."""
    for c in range(len(out)):
        out[c] = api.var_probindex(load_int64(candidates, c))
