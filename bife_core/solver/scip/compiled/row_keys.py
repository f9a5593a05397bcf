"""Keys of the classes of rows: what `bife_core.solver.scip.row_classes` writes out, in one integer for each row."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

from typing import Final

import numpy as np
from numba import int32, int64, types

from bife_core.solver.jit import jit
from bife_core.solver.scip.compiled import api
from bife_core.solver.scip.compiled.memory import byte_at, float64_view, int64_at, int64_view

_constraint_name = api.external("SCIPconsGetName", int64(int64))
_set_initial = api.external("SCIPsetConsInitial", int32(int64, int64, int32))
_set_removable = api.external("SCIPsetConsRemovable", int32(int64, int64, int32))
_var_is_binary = api.external("SCIPvarIsBinary", types.uint8(int64))

LE: Final = 1
GE: Final = 2
RANGE: Final = 3
"""Senses of a row; an equation has no class."""

SIGN_BITS: Final = 2
SIDE_BITS: Final = 4
WEIGHTED_BIT: Final = 16
STEM_BITS: Final = 18
"""Places in a key: the sense, the sign of the side, six counts of two bits, whether weights differ, and the stem."""

MANY: Final = 3
"""The count of three and more."""

_PRIME: Final = np.uint64(0x100000001B3)
_OFFSET: Final = np.uint64(0xCBF29CE484222325)


@jit
def _is_letter(byte):
    return 65 <= byte <= 90 or 97 <= byte <= 122


@jit
def _stem_hash(address):
    """Hash the first letters of a name (FNV-1a), 0 for fewer than two; what stands before them is left out."""
    name = byte_at(address)
    k = 0
    while name[k] != 0 and not _is_letter(name[k]):
        k += 1
    start = k
    hashed = _OFFSET
    while _is_letter(name[k]):
        hashed = (hashed ^ np.uint64(name[k])) * _PRIME
        k += 1
    return int64(hashed >> np.uint64(STEM_BITS + 1)) if k - start >= 2 else int64(0)


@jit
def _structure(variables, values, low, high, infinity):
    """Return the lower bits of the key of a row; see `row_classes`."""
    lower, upper = low > -infinity, high < infinity
    positive = False
    for value in values:
        positive |= value > 0
    if lower and upper:
        sense, side, sign = RANGE, high, (1.0 if positive else -1.0)
    else:
        side = high if upper else low
        sign = 1.0 if upper else -1.0  # as a row <=
        other = False
        for value in values:
            other |= sign * value > 0
        sense = LE
        if not other:
            sense, sign = GE, -sign
        side *= sign
    if sense == RANGE:
        side *= sign
    key = sense | (0 if side == 0 else 1 if side > 0 else 2) << SIGN_BITS
    for part in range(2):  # positive, then negative coefficients
        first, weighted = 0.0, False
        counts = (0, 0, 0)
        for k in range(len(values)):
            value = sign * values[k] if part == 0 else -sign * values[k]
            if value <= 0:
                continue
            if first == 0:
                first = value
            weighted |= value != first
            variable = variables[k]
            binaries, integers, others = counts
            if _var_is_binary(variable):
                binaries = min(binaries + 1, MANY)
            elif api.var_is_integral(variable):
                integers = min(integers + 1, MANY)
            else:
                others = min(others + 1, MANY)
            counts = (binaries, integers, others)
        shift = SIDE_BITS + 6 * part
        key |= counts[0] << shift | counts[1] << (shift + 2) | counts[2] << (shift + 4)
        key |= int(weighted) << (WEIGHTED_BIT + part)
    return key


@jit
def row_keys(scip, constraints, n, keys, handlers, n_handlers, room, capacity):
    """Write the key of each of n SCIP_CONS*, 0 for an equation, a free row and what no `handlers` have.

    `room` has 1 + 2 * `capacity` words; a row of more variables has the key 0.
    """
    rows, out, linear_handlers = int64_at(constraints), int64_view(keys, n), int64_at(handlers)
    success, variables = room, room + 8
    values = variables + 8 * capacity
    flag, infinity = int64_at(success), api.infinity(scip)
    for k in range(n):
        row, out[k] = rows[k], 0
        handler = api.constraint_handler(row)
        linear = False
        for h in range(n_handlers):
            linear |= linear_handlers[h] == handler
        if not linear:
            continue
        flag[0] = 0
        api.constraint_size(scip, row, variables, success)
        size = int64_at(variables)[0] & 0x7FFFFFFF
        low, high = api.constraint_lhs(scip, row, success), api.constraint_rhs(scip, row, success)
        free = low <= -infinity and high >= infinity
        if free or low == high or size == 0 or size > capacity:
            continue
        api.constraint_vars(scip, row, variables, int32(capacity), success)
        api.constraint_vals(scip, row, values, int32(capacity), success)
        structure = _structure(int64_view(variables, size), float64_view(values, size), low, high, infinity)
        out[k] = _stem_hash(_constraint_name(row)) << STEM_BITS | structure
    return 0


@jit
def put_on_demand(scip, constraints, n, keys, key):
    """Keep rows with a key out of the first LP, and let SCIP remove them from later ones; return how many."""
    count = 0
    for k in range(n):
        if int64_at(keys)[k] == key:
            row = int64_at(constraints)[k]
            _set_initial(scip, row, int32(0))
            _set_removable(scip, row, int32(1))
            count += 1
    return count
