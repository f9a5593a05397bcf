"""The copy of the rows in which `implied_free` substitutes: entries in two lists each, of its row and of its column.

A substitution changes the copy as SCIP will change its rows, so that the next one is judged by what then holds.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

from typing import Final

from numba import float64, int32, int64, types

from bife_core.solver.jit import jit
from bife_core.solver.scip.compiled import api
from bife_core.solver.scip.compiled.free_layout import (
    CODE,
    CONSTRAINTS,
    DONE,
    ENTRIES,
    FREE,
    HANDLERS,
    LINEAR,
    MORE_ENTRIES,
    MORE_ROOM,
    REFUSED,
    ROOM,
    SCIP,
    UNKNOWN,
    USED,
    VARIABLES,
    WORK,
)
from bife_core.solver.scip.compiled.memory import float64_at, int32_at, int64_at

_is_checked = api.external("SCIPconsIsChecked", types.uint8(int64))
_is_enforced = api.external("SCIPconsIsEnforced", types.uint8(int64))
_is_modifiable = api.external("SCIPconsIsModifiable", types.uint8(int64))
_active_sum = api.external("SCIPgetProbvarLinearSum", int32(int64, int64, int64, int64, int32, int64, int64))
_var_lower = api.external("SCIPvarGetLbGlobal", float64(int64))
_var_upper = api.external("SCIPvarGetUbGlobal", float64(int64))
_var_stays = api.external("SCIPdoNotMultaggrVar", types.uint8(int64, int64))
_var_locks_down = api.external("SCIPvarGetNLocksDown", int32(int64))
_var_locks_up = api.external("SCIPvarGetNLocksUp", int32(int64))

IMPLIES: Final = 1
EQUATION: Final = 2
"""Bits of a row's kind."""

ZERO: Final = 1e-9
"""What counts as no difference, of numbers of size 1."""


@jit
def _link(s, row, col, value):
    """Add an entry, for which there is room."""
    words = s.words
    if words[FREE]:
        entry = words[FREE] - 1
        words[FREE] = s.row_next[entry]
    else:
        entry = words[USED]
        words[USED] += 1
    s.entry_row[entry], s.entry_col[entry], s.value[entry] = row, col, value
    after = s.row_first[row]
    s.row_next[entry], s.row_prev[entry], s.row_first[row] = after, 0, entry + 1
    if after:
        s.row_prev[after - 1] = entry + 1
    after = s.col_first[col]
    s.col_next[entry], s.col_prev[entry], s.col_first[col] = after, 0, entry + 1
    if after:
        s.col_prev[after - 1] = entry + 1
    s.row_size[row] += 1
    s.col_size[col] += 1
    return entry


@jit
def _unlink(s, entry):
    """Take out an entry."""
    row, col = s.entry_row[entry], s.entry_col[entry]
    before, after = s.row_prev[entry], s.row_next[entry]
    if before:
        s.row_next[before - 1] = after
    else:
        s.row_first[row] = after
    if after:
        s.row_prev[after - 1] = before
    before, after = s.col_prev[entry], s.col_next[entry]
    if before:
        s.col_next[before - 1] = after
    else:
        s.col_first[col] = after
    if after:
        s.col_prev[after - 1] = before
    s.row_size[row] -= 1
    s.col_size[col] -= 1
    s.row_next[entry] = s.words[FREE]
    s.words[FREE] = entry + 1


@jit
def _resolve(s, variables, values, n):
    """Replace a sum by one of active variables; return its length, or what room it needs as a negative number."""
    words, head = s.words, s.room
    capacity = words[ROOM]
    count, constant, required = head, head + 8, head + 16
    int64_at(count)[0] = n
    float64_at(constant)[0] = 0.0
    int64_at(required)[0] = 0
    words[CODE] = _active_sum(words[SCIP], variables, values, count, int32(capacity), constant, required)
    needed = int64(int32_at(required)[0])
    return -needed if needed > capacity else int64(int32_at(count)[0])


@jit
def _read_other(s, row, variables, values, n):
    """Have the variables of a constraint that is no row stay; return 0, or what room it needs."""
    single, unit = values + 8 * s.words[ROOM], values + 16 * s.words[ROOM]
    for k in range(n):
        int64_at(single)[0] = int64_at(variables)[k]
        float64_at(unit)[0] = 1.0
        length = _resolve(s, single, unit, 1)
        if length < 0:
            return -length
        if s.words[CODE] != 1:
            return 0
        for i in range(length):
            col = api.var_probindex(int64_at(single)[i])
            if 0 <= col < s.words[VARIABLES]:
                s.stays[col] = 1
    return 0


@jit
def _read_row(s, row, cons, variables, values, n):
    """Copy a row of active variables."""
    words, infinity, success = s.words, api.infinity(s.words[SCIP]), s.room + 24
    modifiable = _is_modifiable(cons) != 0
    constant = float64_at(s.room + 8)[0]
    finite = abs(constant) < infinity
    for k in range(n):
        col = int64(api.var_probindex(int64_at(variables)[k]))
        if not 0 <= col < words[VARIABLES]:
            finite = False
            continue
        if s.place[col]:
            s.value[s.place[col] - 1] += float64_at(values)[k]
        else:
            s.place[col] = _link(s, row, col, float64_at(values)[k]) + 1
    entry = s.row_first[row]
    while entry:
        s.place[s.entry_col[entry - 1]] = 0
        entry = s.row_next[entry - 1]
    low, high = api.constraint_lhs(words[SCIP], cons, success), api.constraint_rhs(words[SCIP], cons, success)
    s.low[row] = low - constant if low > -infinity else -infinity
    s.high[row] = high - constant if high < infinity else infinity
    checked = _is_checked(cons) != 0
    if finite and not modifiable and checked and _is_enforced(cons) != 0:
        s.row_kind[row] = IMPLIES
        if s.low[row] == s.high[row] and api.constraint_handler(cons) == words[LINEAR]:
            s.row_kind[row] |= EQUATION
    locks = int64(low > -infinity) + int64(high < infinity) if checked else int64(0)
    entry = s.row_first[row]
    while entry:
        col, after = s.entry_col[entry - 1], s.row_next[entry - 1]
        s.locks[col] += locks
        if modifiable or not finite:
            s.stays[col] = 1
        if s.value[entry - 1] == 0.0:
            _unlink(s, entry - 1)
        entry = after


@jit
def read_rows(s):
    """Copy all rows; return what it came to."""
    words = s.words
    scip, capacity, success = words[SCIP], words[ROOM], s.room + 24
    variables = s.room + 32
    values = variables + 8 * capacity
    for k in range(words[CONSTRAINTS]):
        cons, linear = s.constraints[k], False
        for h in range(words[HANDLERS]):
            linear |= s.handlers[h] == api.constraint_handler(cons)
        int64_at(success)[0] = 0
        int64_at(s.room)[0] = 0
        api.constraint_size(scip, cons, s.room, success)
        size = int64(int32_at(s.room)[0])
        if int64_at(success)[0] & 0xFF == 0:
            return UNKNOWN
        if size > capacity:
            words[ROOM] = size
            return MORE_ROOM
        int64_at(success)[0] = 0
        api.constraint_vars(scip, cons, variables, int32(capacity), success)
        if int64_at(success)[0] & 0xFF == 0:
            return UNKNOWN
        words[WORK] -= size
        if not linear:
            needed = _read_other(s, k, variables, values, size)
        else:
            int64_at(success)[0] = 0
            api.constraint_vals(scip, cons, values, int32(capacity), success)
            if int64_at(success)[0] & 0xFF == 0:
                return UNKNOWN
            needed = -_resolve(s, variables, values, size)
        if words[CODE] != 1:
            return REFUSED
        if needed > 0:
            words[ROOM] = needed
            return MORE_ROOM
        if linear:
            if words[USED] - needed > words[ENTRIES]:
                return MORE_ENTRIES
            _read_row(s, k, cons, variables, values, -needed)
    return MORE_ENTRIES if 4 * words[USED] > 3 * words[ENTRIES] else DONE


@jit
def read_variables(s):
    """Read bounds and kinds; a variable that is locked elsewhere than in its rows stays."""
    words = s.words
    for col in range(words[VARIABLES]):
        variable = s.variables[col]
        s.lower[col], s.upper[col] = _var_lower(variable), _var_upper(variable)
        if api.var_is_integral(variable) != 0:
            branched = api.var_type(variable) < 2 and api.var_implied_type(variable) == 0
            s.integral[col] = 2 if branched else 1
        locks = int64(_var_locks_down(variable)) + int64(_var_locks_up(variable))
        if _var_stays(words[SCIP], variable) != 0 or locks != s.locks[col]:
            s.stays[col] = 1


@jit
def mark(s, row, marked):
    """Say for each variable of a row where its entry is, or forget that."""
    entry = s.row_first[row]
    while entry:
        s.place[s.entry_col[entry - 1]] = entry if marked else 0
        entry = s.row_next[entry - 1]


@jit
def substitute(s, pivot, infinity):
    """Replace a pivot's variable in the copy of all other rows, and take out its row."""
    row, col, factor, side = (
        s.entry_row[pivot],
        s.entry_col[pivot],
        s.value[pivot],
        s.high[s.entry_row[pivot]],
    )
    entry = s.col_first[col]
    while entry:
        after, changed, share = s.col_next[entry - 1], s.entry_row[entry - 1], s.value[entry - 1] / factor
        if changed != row:
            _unlink(s, entry - 1)
            mark(s, changed, True)
            other = s.row_first[row]
            while other:
                i, less = s.entry_col[other - 1], share * s.value[other - 1]
                if i != col:
                    if s.place[i]:
                        old = s.value[s.place[i] - 1]
                        if abs(old - less) <= ZERO * max(abs(old), abs(less)):
                            _unlink(s, s.place[i] - 1)
                            s.place[i] = 0
                        else:
                            s.value[s.place[i] - 1] = old - less
                    else:
                        _link(s, changed, i, -less)
                other = s.row_next[other - 1]
            mark(s, changed, False)
            s.words[WORK] -= 2 * s.row_size[changed] + s.row_size[row]
            if s.low[changed] > -infinity:
                s.low[changed] -= share * side
            if s.high[changed] < infinity:
                s.high[changed] -= share * side
        entry = after
    entry = s.row_first[row]
    while entry:
        after = s.row_next[entry - 1]
        _unlink(s, entry - 1)
        entry = after
    s.row_kind[row] = 0
