"""Features folded over the rows of a candidate, with what depends on a row alone taken once per call."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import numpy as np
from numba import int64

from bife_core.machine_code import inlined, jit
from bife_core.scip.compiled import api, layout
from bife_core.scip.compiled.entries import entries_of
from bife_core.scip.compiled.memory import (
    ensure_room,
    fill,
    float64_view,
    int64_view,
    load_float64,
    load_int32,
    load_int64,
    store_float64,
)


@jit
def _keep_row(state, row, kept, sums):
    """Take what stays true of a row while its entries do: sums by sign, and its columns for weight 3."""
    entries = int64(api.row_n_entries(row))
    norm = api.row_norm(row)
    index = int64(api.row_index(row))
    if (
        kept[layout.KEPT_VALID] == 1
        and kept[layout.KEPT_POINTER] == row
        and kept[layout.KEPT_INDEX] == index
        and kept[layout.KEPT_ENTRIES] == entries
        and sums[layout.SUM_NORM] == norm
    ):
        return True
    if kept[layout.KEPT_VALID] == 1:
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
        value = load_float64(vals, k)
        if value > 0.0:
            positive += value
        else:
            negative += value
        col = int64(api.col_index(load_int64(cols, k)))
        highest = max(highest, col)
        arena_cols[start + k] = col
        arena_vals[start + k] = abs(value)
    state[layout.ARENA_USED] = end
    kept[layout.KEPT_POINTER] = row
    kept[layout.KEPT_INDEX] = index
    kept[layout.KEPT_ENTRIES] = entries
    kept[layout.KEPT_START] = start
    kept[layout.KEPT_VALID] = 1
    sums[layout.SUM_NORM] = norm
    sums[layout.SUM_POSITIVE] = positive
    sums[layout.SUM_NEGATIVE] = negative
    sums[layout.SUM_MAGNITUDE] = positive - negative
    return ensure_room(state, layout.COL_PSEUDO, highest + 1)


@jit
def take_row(scip, state, row, position, mask, epsilon):
    """Bring what the passes read of the LP row at `position` up to date with the present call."""
    kept = int64_view(state[layout.ROW_KEPT] + 8 * position * layout.N_ROW_KEPT, layout.N_ROW_KEPT)
    sums = float64_view(state[layout.ROW_SUMS] + 8 * position * layout.N_ROW_SUMS, layout.N_ROW_SUMS)
    if mask & layout.NEEDS_KEPT and not _keep_row(state, row, kept, sums):
        return False
    if mask & layout.NEEDS_DEGREE:
        store_float64(state[layout.ROW_LENGTH], position, api.row_n_lp_entries(row))
    active = False
    if mask & (layout.NEEDS_RHS | layout.NEEDS_ACTIVE):
        lhs = api.row_lhs(row)
        rhs = api.row_rhs(row)
        if mask & layout.NEEDS_RHS:
            store_float64(state[layout.ROW_LHS], position, lhs)
            store_float64(state[layout.ROW_RHS], position, rhs)
        if mask & layout.NEEDS_ACTIVE:
            activity = api.row_activity(scip, row)
            active = abs(activity - rhs) <= epsilon or abs(activity - lhs) <= epsilon
    int64_view(state[layout.ROW_TAG], position + 1)[position] = 2 * state[layout.CALL] + (1 if active else 0)
    if not active:
        return True
    if mask & layout.NEEDS_ACTIVE_4:
        store_float64(state[layout.ROW_W4], position, abs(api.row_dualsol(row)))
    if mask & layout.NEEDS_ACTIVE_2:
        total = sums[layout.SUM_MAGNITUDE]
        store_float64(state[layout.ROW_W2], position, 1.0 / total if total != 0.0 else 1.0)
    if mask & layout.NEEDS_ACTIVE_3:
        pseudo = int64_view(state[layout.COL_PSEUDO], state[layout.COL_PSEUDO + 1])
        start = kept[layout.KEPT_START]
        end = start + kept[layout.KEPT_ENTRIES]
        arena_cols = int64_view(state[layout.ARENA_COLS], end)
        arena_vals = float64_view(state[layout.ARENA_VALS], end)
        total = 0.0
        for k in range(start, end):
            if pseudo[arena_cols[k]] == state[layout.CALL]:
                total += arena_vals[k]
        store_float64(state[layout.ROW_W3], position, 1.0 / total if total != 0.0 else 1.0)
    return True


@jit
def _fold_side(out, coefficient, side):
    magnitude = abs(coefficient) + abs(side)
    ratio = coefficient / magnitude if magnitude != 0.0 else 0.0
    at = 36 if side >= 0.0 else 38
    out[at] = min(out[at], ratio)
    out[at + 1] = max(out[at + 1], ratio)


@jit
def _fold_share(out, at, share):
    out[at] = min(out[at], share)
    out[at + 1] = max(out[at + 1], share)


@jit
def _finish_spread(out, at, n, shift_sum, shift_squares, first):
    """Write mean and standard deviation from sums of deviations from the first value, which do not cancel."""
    if shift_squares == 0.0:  # all equal, as in rows of ones
        out[at] = first
        out[at + 1] = 0.0
        return
    out[at] = first + shift_sum / n
    out[at + 1] = np.sqrt(max(shift_squares - shift_sum * shift_sum / n, 0.0) / n)


@inlined
def _sum_active(state, n, row_weights, out, at):
    """Write the two sums of one weighting over the candidate's `n` active rows at ``out[at:at + 2]``."""
    positions = state[layout.TIGHT_ROWS]
    magnitudes = state[layout.TIGHT_VALS]
    weights = 0.0
    total = 0.0
    for k in range(n):
        weight = 1.0
        if row_weights != 0:
            weight = load_float64(row_weights, load_int64(positions, k))
        weights += weight
        total += weight * load_float64(magnitudes, k)
    out[at] = weights
    out[at + 1] = total


@inlined
def _fold_active(state, n, row_weights, mask, out, at):
    """Write the six values of one weighting at ``out[at:at + 6]``, or its two sums alone if no more is read."""
    if not mask & layout.NEEDS_SPREAD:
        _sum_active(state, n, row_weights, out, at)
        return
    fill(out, at, at + 6, 0.0)
    if n == 0:
        return
    positions = int64_view(state[layout.TIGHT_ROWS], n)
    magnitudes = float64_view(state[layout.TIGHT_VALS], n)
    weights = 0.0
    total = 0.0
    smallest = np.inf
    largest = 0.0
    first = 0.0
    shift_sum = 0.0
    shift_squares = 0.0
    for k in range(n):
        weight = 1.0
        if row_weights != 0:
            weight = load_float64(row_weights, positions[k])
        y = weight * magnitudes[k]
        if k == 0:
            first = y
        weights += weight
        total += y
        smallest = min(smallest, y)
        largest = max(largest, y)
        shift_sum += y - first
        shift_squares += (y - first) ** 2
    out[at] = weights
    out[at + 1] = total
    _finish_spread(out, at + 2, n, shift_sum, shift_squares, first)
    out[at + 4] = smallest
    out[at + 5] = largest


@jit
def by_row(scip, state, variable, col, mask, infinity, epsilon, out):
    """Write the features of one candidate that are folded over its rows."""
    address = entries_of(state, variable, col)
    if address == 0:
        return False
    record = int64_view(address, layout.N_ENTRIES)
    n_rows = record[layout.ENTRY_COUNT]
    places = state[layout.PLACES] + 4 * record[layout.ENTRY_START]
    coefs = state[layout.COEFS] + 8 * record[layout.ENTRY_START]
    common = load_float64(address, layout.ENTRY_VALUE)
    state[layout.ROW_VISITS] += n_rows
    if not (ensure_room(state, layout.TIGHT_ROWS, n_rows) and ensure_room(state, layout.TIGHT_VALS, n_rows)):
        return False
    tight_rows = int64_view(state[layout.TIGHT_ROWS], n_rows)
    tight_vals = float64_view(state[layout.TIGHT_VALS], n_rows)
    tags = int64_view(state[layout.ROW_TAG], state[layout.ROW_TAG + 1])
    fresh = 2 * state[layout.CALL]

    n = 0
    n_tight = 0
    first = 0.0
    shift_sum = 0.0
    shift_squares = 0.0
    smallest = np.inf
    largest = 0.0
    if mask & layout.NEEDS_RHS:
        out[36] = 1.0
        out[37] = -1.0
        out[38] = 1.0
        out[39] = -1.0
    if mask & layout.NEEDS_ONE_TO_ALL:
        for at in range(40, 48, 2):
            out[at] = 1.0
            out[at + 1] = 0.0
    for k in range(n_rows):
        position = load_int32(places, k)
        if tags[position] < fresh:
            row = load_int64(state[layout.LP_ROWS], position)
            if not take_row(scip, state, row, position, mask, epsilon):
                return False
        value = common if common == common else load_float64(coefs, k)
        if mask & layout.NEEDS_DEGREE:
            length = load_float64(state[layout.ROW_LENGTH], position)
            if n == 0:
                first = length
            shift_sum += length - first
            shift_squares += (length - first) ** 2
            smallest = min(smallest, length)
            largest = max(largest, length)
        n += 1
        if mask & layout.NEEDS_RHS:
            rhs = load_float64(state[layout.ROW_RHS], position)
            if rhs < infinity:
                _fold_side(out, value, rhs)
            lhs = load_float64(state[layout.ROW_LHS], position)
            if lhs > -infinity:
                _fold_side(out, -value, -lhs)
        if mask & layout.NEEDS_ONE_TO_ALL:
            positive = load_float64(
                state[layout.ROW_SUMS], position * layout.N_ROW_SUMS + layout.SUM_POSITIVE
            )
            negative = load_float64(
                state[layout.ROW_SUMS], position * layout.N_ROW_SUMS + layout.SUM_NEGATIVE
            )
            if value > 0.0:
                _fold_share(out, 40, value / positive)
                _fold_share(out, 42, 1.0 if negative == 0.0 else value / (value - negative))
            elif value < 0.0:
                _fold_share(out, 44, 1.0 if positive == 0.0 else value / (value - positive))
                _fold_share(out, 46, value / negative)
        # Written in any case and kept if the row is active: a branch here is guessed wrong half of the time.
        tight_rows[n_tight] = position
        tight_vals[n_tight] = abs(value)
        n_tight += tags[position] & 1

    if mask & layout.NEEDS_DEGREE:
        fill(out, 29, 36, 0.0)
        if n > 0:
            _finish_spread(out, 29, n, shift_sum, shift_squares, first)
            out[31] = smallest
            out[32] = largest
            for at, dynamic, static in ((33, 29, 4), (34, 31, 6), (35, 32, 7)):
                together = out[static] + out[dynamic]
                out[at] = out[dynamic] / together if together != 0.0 else 0.0
    if mask & layout.NEEDS_ACTIVE_1:
        _fold_active(state, n_tight, int64(0), mask, out, 48)
    if mask & layout.NEEDS_ACTIVE_2:
        _fold_active(state, n_tight, state[layout.ROW_W2], mask, out, 54)
    if mask & layout.NEEDS_ACTIVE_3:
        _fold_active(state, n_tight, state[layout.ROW_W3], mask, out, 60)
    if mask & layout.NEEDS_ACTIVE_4:
        _fold_active(state, n_tight, state[layout.ROW_W4], mask, out, 66)
    return True
