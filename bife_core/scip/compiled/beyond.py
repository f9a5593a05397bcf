"""Features beyond the 72 of Khalil et al.: what else SCIP knows of variable and node, and comparisons of candidates."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import numpy as np
from numba import float64, int64

from bife_core.features import GROUPS, N_COLUMNS, history, members_of, nodes, siblings
from bife_core.jit import inlined, jit
from bife_core.scip.compiled import api, layout, needs
from bife_core.scip.compiled.memory import (
    ensure_room,
    fill,
    float64_view,
    int64_view,
    load_float64,
    store_float64,
)

_inference, _write_inference = inlined(history.inference), needs.writer(history.INFERENCE)
_conflict, _write_conflict = inlined(history.conflict), needs.writer(history.CONFLICT)
_average_cutoff, _write_average_cutoff = (
    inlined(history.average_cutoff),
    needs.writer(history.AVERAGE_CUTOFF),
)
_gmi, _write_gmi = inlined(history.gmi), needs.writer(history.GMI)
_reliability, _write_reliability = inlined(history.reliability), needs.writer(history.RELIABILITY)
_locks, _write_locks = inlined(history.locks), needs.writer(history.LOCKS)
_root, _write_root = inlined(history.root), needs.writer(history.ROOT)
_incumbent, _write_incumbent = inlined(history.incumbent), needs.writer(history.INCUMBENT)
_gap, _between, _room_of = inlined(nodes.gap), inlined(nodes.between), inlined(nodes.room_of)
_room, _write_room = inlined(nodes.room), needs.writer(nodes.ROOM)
_write_node = needs.writer(nodes.NODE)
_relative = inlined(siblings.relative)

_COMPARISONS = [group for group in GROUPS if group.of is not None]
_BITS = np.array([1 << GROUPS.index(group) for group in _COMPARISONS])
_COMPARED = np.array([group.of.index for group in _COMPARISONS if group.of is not None])
_OF_MAX, _RANK = np.array(
    [[feature.index for feature in members_of(group)] for group in _COMPARISONS]
).T.copy()
_MIXER = np.int64(0x9E3779B97F4A7C15 - 2**64)
"""Brings all bits of a number it is multiplied by into the highest ones of the product."""


@jit
def about_node(scip, n, mask):
    """Return the values of `NODE`, what is left to the node in its LP, and SCIP's best solution."""
    none = (0.0, 0.0, 0.0, 0.0, 0.0)
    incumbent = api.best_sol(scip) if mask & needs.INCUMBENT else int64(0)
    if not mask & (needs.NODE | needs.ROOM):
        return none, 0.0, incumbent
    infinity = api.infinity(scip)
    cutoff = api.cutoff_bound(scip)
    objective = api.lp_objective(scip)
    left = _room_of(objective, cutoff, infinity)
    if not mask & needs.NODE:
        return none, left, incumbent
    lower = api.lower_bound(scip)
    gap = _gap(lower, api.upper_bound(scip), infinity)
    bound = _between(objective, lower, cutoff, infinity)
    estimate = _between(api.local_estimate(scip), lower, cutoff, infinity)
    return (float64(api.depth(scip)), float64(n), gap, bound, estimate), left, incumbent


@jit
def beyond_khalil(scip, variable, value, fraction, mask, node, row):
    """Write what SCIP knows of one candidate and of its node; `node` is what `about_node` returned.

    Scores of inferences, conflicts and cutoffs are made as SCIP's functions of these names make them, which ask for
    both directions once more.
    """
    of_node, left, incumbent = node
    if mask & needs.NODE:
        _write_node(row, of_node)
    if mask & needs.ROOM:
        up = api.pseudocost(scip, variable, api.UP)
        down = api.pseudocost(scip, variable, api.DOWN)
        _write_room(row, _room(fraction, up, down, left))
    if mask & needs.INFERENCE:
        up = api.avg_inferences(scip, variable, api.UP)
        down = api.avg_inferences(scip, variable, api.DOWN)
        _write_inference(row, _inference(up, down, api.branch_score(scip, variable, down, up)))
    if mask & needs.CONFLICT:
        length_score = api.conflict_length_score(scip, variable)
        up = api.vsids(scip, variable, api.UP)
        down = api.vsids(scip, variable, api.DOWN)
        score = api.branch_score(scip, variable, down, up)
        _write_conflict(row, _conflict(score, length_score, up, down))
    if mask & needs.AVERAGE_CUTOFF:
        up = api.avg_cutoffs(scip, variable, api.UP)
        down = api.avg_cutoffs(scip, variable, api.DOWN)
        _write_average_cutoff(row, _average_cutoff(up, down, api.branch_score(scip, variable, down, up)))
    if mask & needs.GMI:
        _write_gmi(row, _gmi(api.avg_gmi(scip, variable), api.last_gmi(scip, variable)))
    if mask & needs.RELIABILITY:
        up = api.pseudocost_count(scip, variable, api.UP)
        down = api.pseudocost_count(scip, variable, api.DOWN)
        variance_up = api.pseudocost_variance(scip, variable, api.UP, 0)
        variance_down = api.pseudocost_variance(scip, variable, api.DOWN, 0)
        _write_reliability(row, _reliability(up, down, variance_up, variance_down))
    if mask & needs.LOCKS:
        _write_locks(row, _locks(float64(api.locks_up(variable)), float64(api.locks_down(variable))))
    if mask & needs.ROOT:
        at_root = api.root_sol(variable)
        average = api.avg_sol(variable)
        _write_root(row, _root(value, api.best_root_redcost(variable), at_root, average))
    if mask & needs.INCUMBENT:
        known = api.sol_val(scip, incumbent, variable) if incumbent != 0 else value
        _write_incumbent(row, _incumbent(value, known))


@jit
def _ranks(matrix, n, column, shift, table, places, smaller, values, ascending):
    """Read a column; return the largest value, and where in `smaller` stands how many are smaller.

    Candidates tie a lot, and each value is sorted once: `table` holds who had a value first, by a hash of the value.
    """
    fill(table, 0, len(table), 0)
    fill(smaller, 0, n, 0)
    bits = values.view(np.int64)
    last = len(table) - 1
    n_values = 0
    for c in range(n):
        values[c] = load_float64(matrix, c * N_COLUMNS + column) + 0.0  # never -0, which is as large as 0
        slot = (bits[c] * _MIXER >> shift) & last
        while table[slot] != 0 and values[table[slot] - 1] != values[c]:
            slot = (slot + 1) & last
        if table[slot] == 0:
            table[slot] = c + 1
            ascending[n_values] = values[c]
            n_values += 1
        places[c] = table[slot] - 1
    ascending = ascending[:n_values]
    ascending.sort()
    for c in range(n):
        known = places[c] < c
        places[c] = places[places[c]] if known else np.searchsorted(ascending, values[c])
        smaller[places[c]] += 1
    so_far = 0
    for place in range(n_values):
        same = smaller[place]
        smaller[place] = so_far
        so_far += same
    return ascending[n_values - 1]


@jit
def compare(state, n, mask):
    """Write what compares the `n` candidates of the matrix with one another; False without memory."""
    slots, shift = 64, 58
    while slots < 2 * n:
        slots, shift = 2 * slots, shift - 1
    if not ensure_room(state, layout.COMPARED, slots + 4 * n):
        return False
    matrix, base = state[layout.MATRIX], state[layout.COMPARED]
    rest = base + 8 * slots
    table, places, smaller = int64_view(base, slots), int64_view(rest, n), int64_view(rest + 8 * n, n)
    values, ascending = float64_view(rest + 16 * n, n), float64_view(rest + 24 * n, n)
    for comparison in range(len(_BITS)):
        if not mask & _BITS[comparison]:
            continue
        column = _COMPARED[comparison]
        largest = _ranks(matrix, n, column, shift, table, places, smaller, values, ascending)
        for c in range(n):
            of_max, rank = _relative(values[c], largest, smaller[places[c]], n - 1)
            store_float64(matrix, c * N_COLUMNS + _OF_MAX[comparison], of_max)
            store_float64(matrix, c * N_COLUMNS + _RANK[comparison], rank)
    return True
