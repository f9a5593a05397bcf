"""Aggregate implied free variables: what `bife_core.solver.scip.implied_free` says, on a copy of the rows."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

from typing import Any, Final

from numba import float64, int32, int64, types

from bife_core.solver.jit import jit
from bife_core.solver.scip.compiled import api
from bife_core.solver.scip.compiled.free_layout import (
    AGGREGATED,
    CODE,
    DONE,
    ENTRIES,
    INFEASIBLE,
    INTEGERS,
    MOST_ROWS,
    REFUSED,
    ROOM,
    SCIP,
    STARTS,
    USED,
    VARIABLES,
    WORK,
    State,
)
from bife_core.solver.scip.compiled.free_rows import (
    EQUATION,
    IMPLIES,
    ZERO,
    mark,
    read_rows,
    read_variables,
    substitute,
)
from bife_core.solver.scip.compiled.memory import float64_at, int64_at

_var_is_active = api.external("SCIPvarIsActive", types.uint8(int64))
_multiaggregate = api.external(
    "SCIPmultiaggregateVar", int32(int64, int64, int32, int64, int64, float64, int64, int64)
)

MOST_FILL: Final = 10
_PIVOT: Final = 0.01
"""A coefficient that is divided by is at least this part of the largest of its row and of its column."""
_LEAST: Final = 0.1
"""A row implies a bound if its coefficient is at least this part of its sides, against the bound; see `_is_free`."""
_GROWTH: Final = 1.0
"""What is added to the sides of a row, as a part of their size."""
_ROUNDED: Final = 1e-15


@jit
def _is_candidate(s, col):
    kind = s.words[INTEGERS] or s.integral[col] == 0
    return kind and s.stays[col] == 0 and 0 < s.col_size[col] <= MOST_ROWS


@jit
def _sorted(s):
    """Order what may be replaced by the number of rows; return how many variables that is."""
    words = s.words
    for col in range(words[VARIABLES]):
        if _is_candidate(s, col):
            words[STARTS + s.col_size[col] + 1] += 1
    for size in range(1, MOST_ROWS + 2):
        words[STARTS + size] += words[STARTS + size - 1]
    count = words[STARTS + MOST_ROWS + 1]
    for col in range(words[VARIABLES]):
        if _is_candidate(s, col):
            s.order[words[STARTS + s.col_size[col]]] = col
            words[STARTS + s.col_size[col]] += 1
    return count


@jit
def _is_pivot(s, entry, largest):
    """Whether an entry's variable may be expressed by its row, where `largest` is of its column."""
    row, col, value = s.entry_row[entry], s.entry_col[entry], s.value[entry]
    if not s.row_kind[row] & EQUATION or s.row_size[row] < 3 or abs(value) < _PIVOT * largest:
        return False
    s.words[WORK] -= s.row_size[row]
    side = s.high[row] / value
    if s.integral[col] and abs(side - round(side)) > ZERO:
        return False
    other = s.row_first[row]
    while other:
        part = s.value[other - 1] / value
        if abs(value) < _PIVOT * abs(s.value[other - 1]):
            return False
        is_whole = abs(part - round(part)) <= ZERO and s.integral[s.entry_col[other - 1]] == 2
        if s.integral[col] and not is_whole and other - 1 != entry:
            return False
        other = s.row_next[other - 1]
    return True


@jit
def _implied_bounds(s, entry, infinity):
    """Return the bounds of an entry's variable that its row and the bounds of the other variables imply."""
    row, factor = s.entry_row[entry], s.value[entry]
    least, most = 0.0, 0.0
    least_known, most_known = s.high[row] < infinity, s.low[row] > -infinity
    size = max(abs(s.low[row]) if most_known else 0.0, abs(s.high[row]) if least_known else 0.0)
    other = s.row_first[row]
    while other and (least_known or most_known):
        s.words[WORK] -= 1
        if other - 1 != entry:
            col, value = s.entry_col[other - 1], s.value[other - 1]
            small, large = (s.lower[col], s.upper[col]) if value > 0.0 else (s.upper[col], s.lower[col])
            if abs(small) >= infinity:
                least_known = False
            else:
                least += value * small
                size += abs(value * small) if least_known else 0.0
            if abs(large) >= infinity:
                most_known = False
            else:
                most += value * large
                size += abs(value * large) if most_known else 0.0
        other = s.row_next[other - 1]
    error = _ROUNDED * size
    low = (s.low[row] - most - error) if most_known else -infinity
    high = (s.high[row] - least + error) if least_known else infinity
    if factor < 0.0:
        low, high = (-high, -low)
    size = abs(factor)
    return (low / size if low > -infinity else low), (high / size if high < infinity else high)


@jit
def _size(s, row, infinity):
    """Return the size of a row's sides, at least 1, which SCIP's tolerance grows with."""
    low, high = abs(s.low[row]), abs(s.high[row])
    return max(1.0, low if low < infinity else 0.0, high if high < infinity else 0.0)


@jit
def _is_free(s, pivot, infinity):
    """Whether rows imply the bounds of a pivot's variable.

    Its own row holds exactly, as it then defines the variable; in others SCIP's tolerance, divided by the coefficient,
    must not be much more than that of a bound.
    """
    col = s.entry_col[pivot]
    lower, upper = s.lower[col], s.upper[col]
    need_low, need_high = lower > -infinity, upper < infinity
    entry = s.col_first[col]
    while entry and (need_low or need_high):
        row, factor = s.entry_row[entry - 1], abs(s.value[entry - 1])
        if s.row_kind[row] & IMPLIES:
            low, high = _implied_bounds(s, entry - 1, infinity)
            least = 0.0 if entry - 1 == pivot else _LEAST * _size(s, row, infinity)
            size = max(1.0, abs(lower))
            if low > -infinity and low >= lower - ZERO * size and factor * size >= least:
                need_low = False
            size = max(1.0, abs(upper))
            if high < infinity and high <= upper + ZERO * size and factor * size >= least:
                need_high = False
        entry = s.col_next[entry - 1]
    return not (need_low or need_high)


@jit
def _keeps_size(s, pivot, infinity):
    """Whether a substitution keeps the sides of other rows of about their size, and so SCIP's tolerance there."""
    row, entry = s.entry_row[pivot], s.col_first[s.entry_col[pivot]]
    shift = s.high[row] / s.value[pivot]
    while entry:
        other = s.entry_row[entry - 1]
        if other != row and abs(s.value[entry - 1] * shift) > _GROWTH * _size(s, other, infinity):
            return False
        entry = s.col_next[entry - 1]
    return True


@jit
def _new_entries(s, pivot):
    """Return how many entries the other rows of a pivot's variable get that they do not have."""
    row, col, count = s.entry_row[pivot], s.entry_col[pivot], 0
    mark(s, row, True)
    entry = s.col_first[col]
    while entry:
        other_row = s.entry_row[entry - 1]
        if other_row != row:
            count += s.row_size[row]
            s.words[WORK] -= s.row_size[other_row]
            other = s.row_first[other_row]
            while other:
                if s.place[s.entry_col[other - 1]]:
                    count -= 1
                other = s.row_next[other - 1]
        entry = s.col_next[entry - 1]
    mark(s, row, False)
    s.words[WORK] -= 2 * s.row_size[row]
    return count


@jit
def _tell(s, pivot):
    """Have SCIP aggregate a pivot's variable; return 1 if it did, 2 if it changed others as well, 0 if not, or -1."""
    words, row = s.words, s.entry_row[pivot]
    col, factor, scip = s.entry_col[pivot], s.value[pivot], words[SCIP]
    infeasible, aggregated = s.room + 8, s.room + 16
    variables = s.room + 32
    values = variables + 8 * words[ROOM]
    count, entry = 0, s.row_first[row]
    if s.row_size[row] > words[ROOM] or not _var_is_active(s.variables[col]):
        return 0
    while entry:
        if entry - 1 != pivot:
            int64_at(variables)[count] = s.variables[s.entry_col[entry - 1]]
            float64_at(values)[count] = -s.value[entry - 1] / factor
            count += 1
        entry = s.row_next[entry - 1]
    int64_at(infeasible)[0], int64_at(aggregated)[0] = 0, 0
    constant = s.high[row] / factor
    variable = s.variables[col]
    words[CODE] = _multiaggregate(
        scip, variable, int32(count), variables, values, constant, infeasible, aggregated
    )
    if words[CODE] != 1 or int64_at(infeasible)[0] & 0xFF:
        return -1
    changed = int64_at(aggregated)[0] & 0xFF != 0
    words[AGGREGATED] += int64(changed)
    entry = s.row_first[row]
    while entry:
        if entry - 1 != pivot and not _var_is_active(s.variables[s.entry_col[entry - 1]]):
            return 2
        entry = s.row_next[entry - 1]
    if not changed:
        return 0
    return 2 if _var_is_active(variable) else 1


@jit
def _largest(s, col):
    """Return the largest coefficient of a column."""
    largest, entry = 0.0, s.col_first[col]
    while entry:
        largest = max(largest, abs(s.value[entry - 1]))
        entry = s.col_next[entry - 1]
    return largest


@jit
def _best_pivot(s, col, infinity):
    """Return the entry of least fill-in by which an implied free variable is replaced, and its new entries, or -1."""
    best, least, entries, largest = -1, MOST_FILL + 1, 0, _largest(s, col)
    entry = s.col_first[col]
    while entry:
        pivot = entry - 1
        if _is_pivot(s, pivot, largest) and _keeps_size(s, pivot, infinity) and _is_free(s, pivot, infinity):
            added = _new_entries(s, pivot)
            fill = added - (s.col_size[col] - 1) - s.row_size[s.entry_row[pivot]]
            if fill < least:
                best, least, entries = pivot, fill, added
        entry = s.col_next[pivot]
    return best, entries


@jit
def _aggregate(s):
    """Go once through the variables that may be replaced; return what it came to."""
    words, infinity = s.words, api.infinity(s.words[SCIP])
    unused = words[ENTRIES] - words[USED]
    for k in range(_sorted(s)):
        col = s.order[k]
        words[WORK] -= 2 * s.col_size[col]
        if words[WORK] <= 0:
            break
        if not 0 < s.col_size[col] <= MOST_ROWS:
            continue
        pivot, entries = _best_pivot(s, col, infinity)
        if pivot < 0:
            continue
        if entries > unused:  # entries that are free again come on top
            break
        told = _tell(s, pivot)
        if told < 0:
            return REFUSED if words[CODE] != 1 else INFEASIBLE
        if told == 2:
            break
        if told == 1:
            substitute(s, pivot, infinity)
            unused = words[ENTRIES] - words[USED]
    return DONE


@jit
def aggregate_implied_free(addresses):
    """Aggregate implied free variables; what a `State` points to lies at `addresses`. Return what it came to."""
    a = int64_at(addresses)
    s: Any = State(
        int64_at(a[0]), int64_at(a[1]), int64_at(a[2]), int64_at(a[3]), int64_at(a[4]), int64_at(a[5]),
        int64_at(a[6]), int64_at(a[7]), int64_at(a[8]), int64_at(a[9]), int64_at(a[10]), int64_at(a[11]),
        int64_at(a[12]), int64_at(a[13]), int64_at(a[14]), int64_at(a[15]), int64_at(a[16]), int64_at(a[17]),
        int64_at(a[18]), int64_at(a[19]), a[20], float64_at(a[21]), float64_at(a[22]), float64_at(a[23]),
        float64_at(a[24]), float64_at(a[25]),
    )  # fmt: skip
    s.words[CODE] = 1
    code = read_rows(s)
    if code != DONE:
        return int64(code)
    read_variables(s)
    return int64(_aggregate(s))
