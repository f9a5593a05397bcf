"""In which rows of the LP a candidate stands, and with which coefficients, kept for as long as the LP has these rows.

SCIP keeps this in a column and two arrays of its own, which are cold after an LP. A copy of half the size is not much
warmer, but there is less of it, and between two branchings of a solve the rows are nearly always the same.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import numpy as np
from numba import int64

from bife_core.jit import jit
from bife_core.scip.compiled import api, layout
from bife_core.scip.compiled.memory import (
    ensure_room,
    fill,
    float64_view,
    int64_view,
    load_float64,
    load_int32,
    load_int64,
    store_float64,
    store_int32,
)


@jit
def forget_entries(state):
    """Give up the entries of a solve that has ended."""
    state[layout.PLACES_USED] = 0
    state[layout.N_KNOWN_ROWS] = -1
    fill(int64_view(state[layout.ENTRIES], state[layout.ENTRIES + 1]), 0, state[layout.ENTRIES + 1], 0)


@jit
def same_row(state, row, position):
    """Whether the row at an LP position is the one that was seen there last; it has been seen now.

    SCIP does not change the coefficients of a row in the LP, and never gives an index twice.
    """
    seen = int64_view(state[layout.ROW_IDENTITY] + 16 * position, 2)
    identity = (int64(api.row_index(row)) << 32) | int64(api.row_n_entries(row))
    same = seen[0] == row and seen[1] == identity
    seen[0] = row
    seen[1] = identity
    return same


@jit
def rows_may_differ(state):
    """Take all entries for outdated: the rows of the LP were not looked at one by one."""
    state[layout.LP_VERSION] += 1
    state[layout.N_KNOWN_ROWS] = -1


@jit
def _find_room(state, record, n_rows):
    if record[layout.ENTRY_ROOM] >= n_rows:
        return True
    wanted = (n_rows + n_rows // 2 + 5) & ~1  # even, so that two places share a word
    start = state[layout.PLACES_USED]
    if not (
        ensure_room(state, layout.PLACES, (start + wanted) // 2)
        and ensure_room(state, layout.COEFS, start + wanted)
    ):
        return False
    record[layout.ENTRY_START] = start
    record[layout.ENTRY_ROOM] = wanted
    state[layout.PLACES_USED] = start + wanted
    return True


@jit
def entries_of(state, variable, col):
    """Return the address of the record of a candidate's entries, brought up to date; 0 without memory."""
    index = int64(api.var_probindex(variable))
    if not ensure_room(state, layout.ENTRIES, (index + 1) * layout.N_ENTRIES):
        return int64(0)
    address = state[layout.ENTRIES] + 8 * index * layout.N_ENTRIES
    record = int64_view(address, layout.N_ENTRIES)
    if record[layout.ENTRY_VERSION] == state[layout.LP_VERSION] and record[layout.ENTRY_COL] == col:
        return address
    rows = api.col_rows(col)
    vals = api.col_vals(col)
    n_rows = int64(api.col_n_lp_rows(col))  # SCIP keeps the rows that are in the LP first
    if not _find_room(state, record, n_rows):
        return int64(0)
    places = state[layout.PLACES] + 4 * record[layout.ENTRY_START]
    coefs = state[layout.COEFS] + 8 * record[layout.ENTRY_START]
    n = 0
    common = 0.0
    for k in range(n_rows):
        row = load_int64(rows, k)
        # Asking the row would touch its struct, once for every candidate in it; the LP's array is small and hot.
        position = load_int32(places, n)
        if position >= state[layout.N_LP_ROWS] or load_int64(state[layout.LP_ROWS], position) != row:
            position = int64(api.row_lp_pos(row))
            if position < 0:
                continue
            store_int32(places + 4 * n, position)
        value = load_float64(vals, k)
        store_float64(coefs, n, value)
        if n == 0:
            common = value
        elif value != common:
            common = np.nan
        n += 1
    record[layout.ENTRY_VERSION] = state[layout.LP_VERSION]
    record[layout.ENTRY_COL] = col
    record[layout.ENTRY_COUNT] = n
    float64_view(address, layout.N_ENTRIES)[layout.ENTRY_VALUE] = common
    return address
