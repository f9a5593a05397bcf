"""Compute the features from SCIP's LP in machine code, as `docs/reference/features.md` defines them.

What depends on a row alone is computed once per row and call; sums over a row's entries, and its columns, are cached
between calls while the row is the same. Each group of features is a pass, skipped if the rule reads none of it.

After an LP, SCIP's structs are not in the processor's cache, and waiting for them takes longer than all sums. They are
prefetched at the offsets below, which are those of SCIP 10; wrong offsets cost time only.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

from typing import Final

from numba import float64, int64, literal_unroll

from bife_core.language.components import BRANCHING
from bife_core.language.features import columns, rows
from bife_core.solver.jit import inlined, jit
from bife_core.solver.scip.compiled import api, layout, masks, needs
from bife_core.solver.scip.compiled.memory import (
    clear,
    ensure_room,
    fill,
    float64_at,
    int32_at,
    int64_at,
    int64_view,
    prefetch,
)
from bife_core.solver.scip.compiled.rows import by_row, same_row, take_row
from bife_core.solver.scip.libscip import scip_version

_structure, _write_structure = inlined(columns.structure), needs.writer(columns.STRUCTURE)
_add_value, _spread = inlined(rows.add_value), inlined(rows.spread)
_once_per_solve, _per_candidate = needs.passes("solve"), needs.passes("candidate")

_WIDTH: Final = BRANCHING.n_features

_VARIABLE: Final = (0xB0, 0x150, 0x1C9)
"""Column; history and problem index; status."""
_COLUMN: Final = (0xB0, 0xE0)
"""Rows and coefficients; index and counts."""
_ROW: Final = (0x08, 0x50, 0x80, 0xF8, 0x110)
"""Sides and norm; dual value and activity; the LP of the activity; index and counts; LP position."""
_ROW_ENTRIES: Final = 0xC0
_HISTORY: Final = 0x150 // 8
"""Word of a variable with the address of its history: pseudocosts first, sums of cutoffs further down."""
_HISTORY_LINES: Final = (0, 64)
_KNOWS_HISTORY: Final = scip_version().startswith("10.")
"""That word is read, not just prefetched, so it must lie within the struct."""

_LINE: Final = 64
_FAR, _MIDDLE, _NEAR, _NEXT = 14, 10, 6, 3
"""How many candidates ahead each step from a variable to its rows is prefetched."""


@jit
def _fetch(address, offsets):
    for offset in literal_unroll(offsets):
        prefetch(address + offset)


@jit
def _fetch_row(row, mask):
    _fetch(row, _ROW)
    if mask & masks.KEPT:
        prefetch(row + _ROW_ENTRIES)


@jit
def _record(state, variable):
    index = int64(api.var_probindex(variable))
    has_entries = (index + 1) * layout.N_ENTRIES <= state[layout.ENTRIES + 1]
    return state[layout.ENTRIES] + 8 * index * layout.N_ENTRIES if has_entries else int64(0)


@jit
def _fetch_entries(state, record):
    start = int64_at(record)[layout.ENTRY_START]
    n = int64_at(record)[layout.ENTRY_COUNT]
    places = state[layout.PLACES] + 4 * start
    for byte in range(0, 4 * n, _LINE):
        prefetch(places + byte)
    common = float64_at(record)[layout.ENTRY_VALUE]
    if common != common:
        coefs = state[layout.COEFS] + 8 * start
        for byte in range(0, 8 * n, _LINE):
            prefetch(coefs + byte)


@jit
def _fetch_rows(state, record, mask):
    """Prefetch the rows of a variable as they were cached, without those this call has read."""
    places = state[layout.PLACES] + 4 * int64_at(record)[layout.ENTRY_START]
    for k in range(int64_at(record)[layout.ENTRY_COUNT]):
        place = int32_at(places)[k]
        is_lp_row = place < state[layout.N_LP_ROWS]
        if is_lp_row and int64_at(state[layout.ROW_TAG])[place] < 2 * state[layout.CALL]:
            _fetch_row(int64_at(state[layout.LP_ROWS])[place], mask)


@jit
def _fetch_ahead(state, candidates, c, n, mask):
    """Prefetch for the candidates after the one at `c`, step by step from a variable to its rows."""
    if c + _FAR < n:
        _fetch(int64_at(candidates)[c + _FAR], _VARIABLE)
    if c + _MIDDLE < n:
        variable = int64_at(candidates)[c + _MIDDLE]
        if _KNOWS_HISTORY:
            _fetch(int64_at(variable)[_HISTORY], _HISTORY_LINES)
        if mask & masks.BY_ROW:
            prefetch(_record(state, variable))
        if mask & (masks.STATIC | masks.DEGREE):
            _fetch(api.var_col(variable), _COLUMN)
    if not mask & masks.BY_ROW:
        return
    if c + _NEAR < n:
        variable = int64_at(candidates)[c + _NEAR]
        record = _record(state, variable)
        if record != 0:
            _fetch_entries(state, record)
        if record == 0 or int64_at(record)[layout.ENTRY_VERSION] != state[layout.LP_VERSION]:
            _fetch(api.var_col(variable), _COLUMN)
    if c + _NEXT < n:
        variable = int64_at(candidates)[c + _NEXT]
        record = _record(state, variable)
        if record != 0 and int64_at(record)[layout.ENTRY_VERSION] != state[layout.LP_VERSION]:
            col = api.var_col(variable)
            prefetch(api.col_rows(col))
            prefetch(api.col_vals(col))
            _fetch_rows(state, record, mask)


@jit
def _forget_rows(state):
    state[layout.ARENA_USED] = 0
    state[layout.ARENA_DEAD] = 0
    clear(state, layout.ROW_TAG)
    clear(state, layout.ROW_KEPT)


@jit
def reset(state):
    """Forget everything cached from a solve."""
    state[layout.STATIC_TAKEN] = state[layout.OBSERVED] = 0
    _forget_rows(state)
    state[layout.PLACES_USED] = 0
    state[layout.N_KNOWN_ROWS] = -1
    clear(state, layout.ENTRIES)
    clear(state, layout.COL_STAMP)
    clear(state, layout.COL_PSEUDO)


@jit
def _restart_if_new_solve(scip, state):
    """Forget the columns and rows of an earlier solve or run."""
    run = int64(api.n_runs(scip))
    lps, dead = api.n_lps(scip), state[layout.ARENA_DEAD]
    if run != state[layout.LAST_RUN] or lps < state[layout.LAST_LP]:
        reset(state)
    elif dead > layout.ARENA_SLACK and 2 * dead > state[layout.ARENA_USED]:
        _forget_rows(state)
    state[layout.LAST_RUN] = run
    state[layout.LAST_LP] = lps


@jit
def _take_static(scip, state, col):
    index = int64(api.col_index(col))
    room = ensure_room(state, layout.COL_STATIC, (index + 1) * masks.N_STATIC)
    if not (room and ensure_room(state, layout.COL_STAMP, index + 1)):
        return False
    int64_view(state[layout.COL_STAMP], index + 1)[index] = 1
    rows_of_col, vals = api.col_rows(col), api.col_vals(col)
    lengths = positive = negative = rows.NO_VALUES
    for k in range(int64(api.col_n_rows(col))):
        row, value = int64_at(rows_of_col)[k], float64_at(vals)[k]
        if api.row_lp_pos(row) >= 0:
            lengths = _add_value(lengths, float64(api.row_n_entries(row)))
            if value > 0.0:
                positive = _add_value(positive, value)
            elif value < 0.0:
                negative = _add_value(negative, -value)
    record = state[layout.COL_STATIC] + 8 * index * masks.N_STATIC
    _once_per_solve(scip, col, int64(0), 0.0, masks.STATIC, record)
    of_rows, of_positive, of_negative = _spread(lengths), _spread(positive), _spread(negative)
    structure = _structure(lengths[0], of_rows, positive[0], of_positive, negative[0], of_negative)
    _write_structure(record, structure)
    return True


@jit
def _take_all_static(scip, state):
    """Compute the static features of all integer columns of the LP, at the first branching of a solve."""
    scratch = state.ctypes.data + 8 * layout.SCRATCH
    fill(state, layout.SCRATCH, layout.SCRATCH + 2, 0)
    api.lp_cols(scip, scratch, scratch + 8)
    cols = state[layout.SCRATCH]
    for c in range(state[layout.SCRATCH + 1]):
        col = int64_at(cols)[c]
        if api.col_is_integral(col) & 0xFF and not _take_static(scip, state, col):
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
    for v in range(state[layout.SCRATCH + 1]):
        col = api.var_col(int64_at(variables)[v])
        if col == 0:
            continue
        index = int64(api.col_index(col))
        if not ensure_room(state, layout.COL_PSEUDO, index + 1):
            return False
        int64_view(state[layout.COL_PSEUDO], index + 1)[index] = state[layout.CALL]
    return True


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
            _fetch_row(int64_at(rows)[position + 12], mask)
        row = int64_at(rows)[position]
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

    `mask` has the bits of the groups to compute; other columns are undefined. `only_priority` leaves candidates below
    the highest branching priority out. Returns the number of candidates (`NO_MEMORY` without memory, `NO_LP` without an
    LP solution) and the address of their SCIP_VAR* array.
    """
    # SCIP complains on standard error when it is asked for candidates without an LP solution.
    status = api.lp_status(scip)
    if status != api.LP_OPTIMAL and status != api.LP_UNBOUNDED_RAY:
        return layout.NO_LP, int64(0)
    _restart_if_new_solve(scip, state)
    state[layout.CALL] += 1
    needs_static = mask & (masks.STATIC | masks.DEGREE) != 0
    if needs_static and state[layout.STATIC_TAKEN] == 0 and not _take_all_static(scip, state):
        return layout.NO_MEMORY, int64(0)
    if mask & masks.ACTIVE_CANDIDATE_SUM and not _mark_unfixed_integers(scip, state):
        return layout.NO_MEMORY, int64(0)

    scratch = state.ctypes.data + 8 * layout.SCRATCH
    fill(state, layout.SCRATCH, layout.SCRATCH + 7, 0)
    if api.branch_cands(scip, scratch, scratch + 32, 0, scratch + 8, scratch + 16, scratch + 24) != 1:
        return layout.NO_LP, int64(0)
    candidates = state[layout.SCRATCH]
    n = state[layout.SCRATCH + 2] if only_priority else state[layout.SCRATCH + 1]
    if not (ensure_room(state, layout.MATRIX, n * _WIDTH) and ensure_room(state, layout.SCORES, n)):
        return layout.NO_MEMORY, int64(0)
    state[layout.SCRATCH] = 0
    api.lp_rows(scip, state.ctypes.data + 8 * layout.LP_ROWS, scratch)
    n_lp_rows = state[layout.SCRATCH]
    state[layout.N_LP_ROWS] = n_lp_rows
    for slot, words in layout.BY_POSITION:
        if not ensure_room(state, slot, n_lp_rows * words):
            return layout.NO_MEMORY, int64(0)
    infinity = api.infinity(scip)
    epsilon = api.epsilon(scip)
    by_rows = mask & masks.BY_ROW != 0
    # Where candidates will meet most rows anyway, one pass over all of them waits less for memory.
    many = by_rows and 2 * state[layout.ROW_VISITS] > n_lp_rows
    if not many:  # the rows are not looked at one by one, so all entries are taken for outdated
        state[layout.LP_VERSION] += 1
        state[layout.N_KNOWN_ROWS] = -1
    elif not _take_all_rows(scip, state, mask, epsilon):
        return layout.NO_MEMORY, int64(0)
    state[layout.ROW_VISITS] = 0
    solution = state[layout.SCRATCH + 4]
    for c in range(n):
        _fetch_ahead(state, candidates, c, n, mask)
        variable = int64_at(candidates)[c]
        col = api.var_col(variable)
        row = state[layout.MATRIX] + 8 * c * _WIDTH
        if needs_static:
            index = int64(api.col_index(col))
            unseen = index >= state[layout.COL_STAMP + 1] or int64_at(state[layout.COL_STAMP])[index] == 0
            if unseen and not _take_static(scip, state, col):
                return layout.NO_MEMORY, int64(0)
            record = state[layout.COL_STATIC] + 8 * index * masks.N_STATIC
            for k in range(masks.N_STATIC):
                float64_at(row)[masks.STATIC_COLUMNS[k]] = float64_at(record)[k]
        _per_candidate(scip, col, variable, api.feas_frac(scip, float64_at(solution)[c]), mask, row)
        if by_rows and not by_row(scip, state, variable, col, mask, infinity, epsilon, row):
            return layout.NO_MEMORY, int64(0)
    return n, candidates
