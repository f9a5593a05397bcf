"""Features over the rows of a candidate; what depends on a row alone is computed once per call.

The rows and coefficients of a candidate are cached while the LP has the same rows, which between two branchings it
nearly always has: a copy of half the size of SCIP's arrays, which are not in the processor's cache after an LP.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

from typing import Final

import numpy as np
from numba import int64

from bife_core.language.features import feature_index, rows
from bife_core.solver.jit import inlined, jit
from bife_core.solver.scip.compiled import api, layout, masks, needs
from bife_core.solver.scip.compiled.memory import (
    ensure_room,
    float64_at,
    float64_view,
    int32_at,
    int64_at,
    int64_view,
)

_add_value, _spread = inlined(rows.add_value), inlined(rows.spread)
_add_side, _add_share = inlined(rows.add_side), inlined(rows.add_share)
_degree = inlined(rows.degree)
_add_active = inlined(rows.add_active)
_weight_from_sum = inlined(rows.weight_from_sum)

_write_degree = needs.writer(rows.DEGREE)
_write_rhs_ratio = needs.writer(rows.RHS_RATIO)
_write_one_to_all = needs.writer(rows.ONE_TO_ALL)
_write_unit = needs.writer(rows.UNIT)
_write_row_sum = needs.writer(rows.ROW_SUM)
_write_candidate_sum = needs.writer(rows.CANDIDATE_SUM)
_write_dual = needs.writer(rows.DUAL)

_ROOT_MEAN: Final = feature_index("rows_deg_mean")
_ROOT_MIN: Final = feature_index("rows_deg_min")
_ROOT_MAX: Final = feature_index("rows_deg_max")


@jit
def same_row(state, row, position):
    """Whether the row at an LP position is the one that was seen there last: SCIP never gives an index twice."""
    seen = int64_view(state[layout.ROW_IDENTITY] + 16 * position, 2)
    identity = (int64(api.row_index(row)) << 32) | int64(api.row_n_entries(row))
    same = seen[0] == row and seen[1] == identity
    seen[0] = row
    seen[1] = identity
    return same


@jit
def _find_room(state, record, n_rows):
    if record[layout.ENTRY_ROOM] >= n_rows:
        return True
    wanted = (n_rows + n_rows // 2 + 5) & ~1  # even, so that two places share a word
    start = state[layout.PLACES_USED]
    room = ensure_room(state, layout.PLACES, (start + wanted) // 2)
    if not (room and ensure_room(state, layout.COEFS, start + wanted)):
        return False
    record[layout.ENTRY_START] = start
    record[layout.ENTRY_ROOM] = wanted
    state[layout.PLACES_USED] = start + wanted
    return True


@jit
def entries_of(state, variable, col):
    """Return the address of the updated record of a candidate's entries; 0 without memory."""
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
        row = int64_at(rows)[k]
        # Asking the row would touch its struct, once for every candidate in it; the LP's array is small and hot.
        position = int32_at(places)[n]
        if position >= state[layout.N_LP_ROWS] or int64_at(state[layout.LP_ROWS])[position] != row:
            position = int64(api.row_lp_pos(row))
            if position < 0:
                continue
            int32_at(places)[n] = position
        value = float64_at(vals)[k]
        float64_at(coefs)[n] = value
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


@jit
def _keep_row(state, row, kept, sums):
    entries = int64(api.row_n_entries(row))
    norm = api.row_norm(row)
    index = int64(api.row_index(row))
    if (
        kept[layout.KEPT_POINTER] == row
        and kept[layout.KEPT_INDEX] == index
        and kept[layout.KEPT_ENTRIES] == entries
        and sums[layout.SUM_NORM] == norm
    ):
        return True
    state[layout.ARENA_DEAD] += kept[layout.KEPT_ENTRIES]
    start = state[layout.ARENA_USED]
    end = start + entries
    if not (ensure_room(state, layout.ARENA_COLS, end) and ensure_room(state, layout.ARENA_VALS, end)):
        return False
    arena_cols = int64_view(state[layout.ARENA_COLS], end)
    arena_vals = float64_view(state[layout.ARENA_VALS], end)
    cols = api.row_cols(row)
    vals = api.row_vals(row)
    positive = 0.0
    negative = 0.0
    highest = int64(0)
    for k in range(entries):
        value = float64_at(vals)[k]
        if value > 0.0:
            positive += value
        else:
            negative += value
        col = int64(api.col_index(int64_at(cols)[k]))
        highest = max(highest, col)
        arena_cols[start + k] = col
        arena_vals[start + k] = abs(value)
    state[layout.ARENA_USED] = end
    kept[layout.KEPT_POINTER] = row
    kept[layout.KEPT_INDEX] = index
    kept[layout.KEPT_ENTRIES] = entries
    kept[layout.KEPT_START] = start
    sums[layout.SUM_NORM] = norm
    sums[layout.SUM_POSITIVE] = positive
    sums[layout.SUM_NEGATIVE] = negative
    sums[layout.SUM_MAGNITUDE] = positive - negative
    return ensure_room(state, layout.COL_PSEUDO, highest + 1)


@jit
def take_row(scip, state, row, position, mask, epsilon):
    """Update what the passes read of the LP row at `position`."""
    kept = int64_view(state[layout.ROW_KEPT] + 8 * position * layout.N_ROW_KEPT, layout.N_ROW_KEPT)
    sums = float64_view(state[layout.ROW_SUMS] + 8 * position * layout.N_ROW_SUMS, layout.N_ROW_SUMS)
    if mask & masks.KEPT and not _keep_row(state, row, kept, sums):
        return False
    if mask & masks.DEGREE:
        float64_at(state[layout.ROW_LENGTH])[position] = api.row_n_lp_entries(row)
    active = False
    if mask & (masks.RHS_RATIO | masks.ACTIVE):
        lhs = api.row_lhs(row)
        rhs = api.row_rhs(row)
        if mask & masks.RHS_RATIO:
            float64_at(state[layout.ROW_LHS])[position] = lhs
            float64_at(state[layout.ROW_RHS])[position] = rhs
        if mask & masks.ACTIVE:
            activity = api.row_activity(scip, row)
            active = abs(activity - rhs) <= epsilon or abs(activity - lhs) <= epsilon
    int64_view(state[layout.ROW_TAG], position + 1)[position] = 2 * state[layout.CALL] + (1 if active else 0)
    if not active:
        return True
    if mask & masks.ACTIVE_DUAL:
        float64_at(state[layout.ROW_W4])[position] = abs(api.row_dualsol(row))
    if mask & masks.ACTIVE_ROW_SUM:
        float64_at(state[layout.ROW_W2])[position] = _weight_from_sum(sums[layout.SUM_MAGNITUDE])
    if mask & masks.ACTIVE_CANDIDATE_SUM:
        pseudo = int64_view(state[layout.COL_PSEUDO], state[layout.COL_PSEUDO + 1])
        start = kept[layout.KEPT_START]
        end = start + kept[layout.KEPT_ENTRIES]
        arena_cols = int64_view(state[layout.ARENA_COLS], end)
        arena_vals = float64_view(state[layout.ARENA_VALS], end)
        total = 0.0
        for k in range(start, end):
            if pseudo[arena_cols[k]] == state[layout.CALL]:
                total += arena_vals[k]
        float64_at(state[layout.ROW_W3])[position] = _weight_from_sum(total)
    return True


@inlined
def _active(positions, magnitudes, n, row_weights, spread):
    """Return all values of one weighting over `n` active rows; weights are 1 without their address."""
    sums = rows.NO_SUMS
    values = rows.NO_VALUES
    for k in range(n):
        weight = 1.0
        if row_weights != 0:
            weight = float64_at(row_weights)[int64_at(positions)[k]]
        magnitude = float64_at(magnitudes)[k]
        sums = _add_active(sums, weight, magnitude)
        if spread:
            values = _add_value(values, weight * magnitude)
    return sums + _spread(values)


@jit
def by_row(scip, state, variable, col, mask, infinity, epsilon, out):
    """Write the features of a candidate over its rows."""
    address = entries_of(state, variable, col)
    if address == 0:
        return False
    record = int64_view(address, layout.N_ENTRIES)
    n_rows = record[layout.ENTRY_COUNT]
    places = state[layout.PLACES] + 4 * record[layout.ENTRY_START]
    coefs = state[layout.COEFS] + 8 * record[layout.ENTRY_START]
    common = float64_at(address)[layout.ENTRY_VALUE]
    state[layout.ROW_VISITS] += n_rows
    if not (ensure_room(state, layout.TIGHT_ROWS, n_rows) and ensure_room(state, layout.TIGHT_VALS, n_rows)):
        return False
    tight_rows = int64_view(state[layout.TIGHT_ROWS], n_rows)
    tight_vals = float64_view(state[layout.TIGHT_VALS], n_rows)
    tags = int64_view(state[layout.ROW_TAG], state[layout.ROW_TAG + 1])
    fresh = 2 * state[layout.CALL]

    n_tight = 0
    lengths = rows.NO_VALUES
    ratios = rows.NO_RATIOS
    shares = rows.NO_SHARES
    for k in range(n_rows):
        position = int32_at(places)[k]
        if tags[position] < fresh:
            row = int64_at(state[layout.LP_ROWS])[position]
            if not take_row(scip, state, row, position, mask, epsilon):
                return False
        value = common if common == common else float64_at(coefs)[k]
        if mask & masks.DEGREE:
            lengths = _add_value(lengths, float64_at(state[layout.ROW_LENGTH])[position])
        if mask & masks.RHS_RATIO:
            rhs = float64_at(state[layout.ROW_RHS])[position]
            if rhs < infinity:
                ratios = _add_side(ratios, value, rhs)
            lhs = float64_at(state[layout.ROW_LHS])[position]
            if lhs > -infinity:
                ratios = _add_side(ratios, -value, -lhs)
        if mask & masks.ONE_TO_ALL:
            sums = state[layout.ROW_SUMS] + 8 * position * layout.N_ROW_SUMS
            positive = float64_at(sums)[layout.SUM_POSITIVE]
            shares = _add_share(shares, value, positive, float64_at(sums)[layout.SUM_NEGATIVE])
        # Written in any case and kept if the row is active: a branch here is guessed wrong half of the time.
        tight_rows[n_tight] = position
        tight_vals[n_tight] = abs(value)
        n_tight += tags[position] & 1

    if mask & masks.DEGREE:
        root_mean, root_min = float64_at(out)[_ROOT_MEAN], float64_at(out)[_ROOT_MIN]
        _write_degree(out, _degree(_spread(lengths), root_mean, root_min, float64_at(out)[_ROOT_MAX]))
    if mask & masks.RHS_RATIO:
        _write_rhs_ratio(out, ratios)
    if mask & masks.ONE_TO_ALL:
        _write_one_to_all(out, shares)
    positions = state[layout.TIGHT_ROWS]
    magnitudes = state[layout.TIGHT_VALS]
    spread = mask & masks.SPREAD != 0
    if mask & masks.ACTIVE_UNIT:
        _write_unit(out, _active(positions, magnitudes, n_tight, int64(0), spread))
    if mask & masks.ACTIVE_ROW_SUM:
        _write_row_sum(out, _active(positions, magnitudes, n_tight, state[layout.ROW_W2], spread))
    if mask & masks.ACTIVE_CANDIDATE_SUM:
        _write_candidate_sum(out, _active(positions, magnitudes, n_tight, state[layout.ROW_W3], spread))
    if mask & masks.ACTIVE_DUAL:
        _write_dual(out, _active(positions, magnitudes, n_tight, state[layout.ROW_W4], spread))
    return True
