"""The annealing of the local search, which is compiled: moves of binary variables, and what follows from them."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import math
from collections import namedtuple
from typing import Any, Final

from numba import int64

from bife_core.solver.jit import jit
from bife_core.solver.scip.compiled.memory import float64_at, int64_at

_State = namedtuple(
    "_State",
    "words col_ptr col_row row_ptr row_col follower defined_ptr defined_row row_follower_ptr row_follower group_ptr "
    "member slot free is_free dirty is_dirty row_log var_log numbers col_val defined_val objective lower upper lhs rhs "
    "scale value activity best row_old var_old",
)
"""Pointers to integers, from `numbers` on to doubles: the matrix by columns and rows, followers with the entries that
define them and back, groups of which one member is 1, flags and logs of a move, the model, and the search.
"""

_GROUPS, _FREE, _VARIABLES, _N_DIRTY, _ROW_LOGGED, _VAR_LOGGED, _RANDOM, _WORK = range(8)
_COST, _VIOLATION, _WEIGHT, _BEST_COST = range(4)
"""Positions in `words`: counts, ends of lists, the state of the random numbers, the work left; and in `numbers`."""

_TOLERANCE: Final = 1e-7
_SAMPLED: Final = 500
_WINDOW: Final = 500
_HOT: Final = 0.1
_COLD: Final = 0.0003
"""Moves that only show what moves change; those after which the weight of violations adapts; first and last temperature
as a share of what a move changes.
"""


@jit
def _random(s, below):
    """Return a random integer from 0 on (xorshift)."""
    state = s.words[_RANDOM]
    state ^= (state & 0x0007FFFFFFFFFFFF) << 12
    state ^= (state >> 25) & 0x7FFFFFFFFF
    state ^= (state & 0x0000000FFFFFFFFF) << 27
    s.words[_RANDOM] = state
    return ((state >> 11) & 0x1FFFFFFFFFFFFF) % below


@jit
def _excess(s, row):
    return max(s.lhs[row] - s.activity[row], s.activity[row] - s.rhs[row], 0.0) * s.scale[row]


@jit
def _change(s, variable, delta):
    """Change a variable, its rows and the cost; log what was, and note which followers are to be computed again."""
    s.var_log[s.words[_VAR_LOGGED]] = variable
    s.var_old[s.words[_VAR_LOGGED]] = s.value[variable]
    s.words[_VAR_LOGGED] += 1
    s.value[variable] += delta
    s.numbers[_COST] += s.objective[variable] * delta
    for entry in range(s.col_ptr[variable], s.col_ptr[variable + 1]):
        row = s.col_row[entry]
        s.row_log[s.words[_ROW_LOGGED]] = row
        s.row_old[s.words[_ROW_LOGGED]] = s.activity[row]
        s.words[_ROW_LOGGED] += 1
        s.numbers[_VIOLATION] -= _excess(s, row)
        s.activity[row] += s.col_val[entry] * delta
        s.numbers[_VIOLATION] += _excess(s, row)
        for place in range(s.row_follower_ptr[row], s.row_follower_ptr[row + 1]):
            follower = s.row_follower[place]
            if s.follower[follower] != variable and not s.is_dirty[follower]:
                s.is_dirty[follower] = 1
                s.dirty[s.words[_N_DIRTY]] = follower
                s.words[_N_DIRTY] += 1
    s.words[_WORK] -= s.col_ptr[variable + 1] - s.col_ptr[variable] + 1


@jit
def _follow(s):
    """Give each follower that is dirty the least value that the rows which define it allow, in their order."""
    while s.words[_N_DIRTY]:
        first = 0
        for place in range(1, s.words[_N_DIRTY]):
            first = place if s.dirty[place] < s.dirty[first] else first
        follower = s.dirty[first]
        s.words[_WORK] -= s.words[_N_DIRTY] + s.defined_ptr[follower + 1] - s.defined_ptr[follower]
        s.words[_N_DIRTY] -= 1
        s.dirty[first] = s.dirty[s.words[_N_DIRTY]]
        s.is_dirty[follower] = 0
        variable = s.follower[follower]
        value = s.lower[variable]
        for entry in range(s.defined_ptr[follower], s.defined_ptr[follower + 1]):
            row, factor = s.defined_row[entry], s.defined_val[entry]
            side = s.lhs[row] if factor > 0.0 else s.rhs[row]
            value = max(value, s.value[variable] + (side - s.activity[row]) / factor)
        value = min(value, s.upper[variable])
        if abs(value - s.value[variable]) > 1e-12:
            _change(s, variable, value - s.value[variable])


@jit
def _put(s, group, position):
    """Choose the member of a group at a position instead of its present one."""
    _change(s, s.member[s.group_ptr[group] + s.slot[group]], -1.0)
    _change(s, s.member[s.group_ptr[group] + position], 1.0)
    s.slot[group] = position


@jit
def _move_groups(s):
    """Move a group to another position and, half the time, one from there to its own; return how to move back."""
    group = _random(s, s.words[_GROUPS])
    size, old, other = s.group_ptr[group + 1] - s.group_ptr[group], s.slot[group], -1
    new = _random(s, size)
    if new == old:
        return group, old, other
    for _ in range(20 * _random(s, 2)):
        candidate = _random(s, s.words[_GROUPS])
        if s.slot[candidate] == new and s.group_ptr[candidate + 1] - s.group_ptr[candidate] == size:
            other = candidate
            _put(s, other, old)
            break
    _put(s, group, new)
    return group, old, other


@jit
def _move_free(s):
    """Flip a variable and, half the time, another of one of its rows that has the other value."""
    variable = s.free[_random(s, s.words[_FREE])]
    value, first = s.value[variable], s.col_ptr[variable]
    count = s.col_ptr[variable + 1] - first
    _change(s, variable, 1.0 - 2.0 * value)
    if count and _random(s, 2):
        row = s.col_row[first + _random(s, count)]
        for _ in range(10):
            other = s.row_col[s.row_ptr[row] + _random(s, s.row_ptr[row + 1] - s.row_ptr[row])]
            if other != variable and s.is_free[other] and s.value[other] != value:
                _change(s, other, 2.0 * value - 1.0)
                return


@jit
def _undo(s, cost, violation):
    for place in range(s.words[_ROW_LOGGED] - 1, -1, -1):
        s.activity[s.row_log[place]] = s.row_old[place]
    for place in range(s.words[_VAR_LOGGED] - 1, -1, -1):
        s.value[s.var_log[place]] = s.var_old[place]
    s.numbers[_COST], s.numbers[_VIOLATION] = cost, violation


@jit
def anneal(addresses):
    """Search until the work is used up; what a `_State` points to lies at `addresses`."""
    a = int64_at(addresses)
    s: Any = _State(
        int64_at(a[0]), int64_at(a[1]), int64_at(a[2]), int64_at(a[3]), int64_at(a[4]), int64_at(a[5]),
        int64_at(a[6]), int64_at(a[7]), int64_at(a[8]), int64_at(a[9]), int64_at(a[10]), int64_at(a[11]),
        int64_at(a[12]), int64_at(a[13]), int64_at(a[14]), int64_at(a[15]), int64_at(a[16]), int64_at(a[17]),
        int64_at(a[18]), float64_at(a[19]), float64_at(a[20]), float64_at(a[21]), float64_at(a[22]),
        float64_at(a[23]), float64_at(a[24]), float64_at(a[25]), float64_at(a[26]), float64_at(a[27]),
        float64_at(a[28]), float64_at(a[29]), float64_at(a[30]), float64_at(a[31]), float64_at(a[32]),
    )  # fmt: skip
    words, numbers = s.words, s.numbers
    moves, feasible, changes, violations, hot, total = 0, 0, 0.0, 0.0, 0.0, 1
    for follower in range(words[_N_DIRTY]):  # all, in their order
        s.dirty[0], words[_N_DIRTY] = follower, 1
        _follow(s)
    while words[_WORK] > 0:
        words[_ROW_LOGGED], words[_VAR_LOGGED] = 0, 0
        words[_WORK] -= 4
        cost, violation, group, old, other = numbers[_COST], numbers[_VIOLATION], -1, 0, -1
        if _random(s, words[_GROUPS] + words[_FREE]) < words[_GROUPS]:
            group, old, other = _move_groups(s)
        else:
            _move_free(s)
        _follow(s)
        moves += 1
        more = numbers[_COST] - cost + numbers[_WEIGHT] * (numbers[_VIOLATION] - violation)
        if moves <= _SAMPLED:
            accepted = False
            changes += abs(numbers[_COST] - cost)
            violations += abs(numbers[_VIOLATION] - violation)
            hot, total = (_HOT * (changes or violations)) / _SAMPLED, words[_WORK]
            numbers[_WEIGHT] = 2.0 * changes / violations if changes > 0.0 and violations > 0.0 else 1.0
        else:
            temperature = hot * (_COLD / _HOT) ** (1.0 - words[_WORK] / total) + 1e-300
            accepted = more <= 0.0 or _random(s, 1 << 30) < (1 << 30) * math.exp(-more / temperature)
        if not accepted:
            _undo(s, cost, violation)
            if group >= 0:
                if other >= 0:
                    s.slot[other] = s.slot[group]
                s.slot[group] = old
        elif numbers[_VIOLATION] <= _TOLERANCE and numbers[_COST] < numbers[_BEST_COST]:
            numbers[_BEST_COST] = numbers[_COST]
            for variable in range(words[_VARIABLES]):
                s.best[variable] = s.value[variable]
        feasible += numbers[_VIOLATION] <= _TOLERANCE
        if moves % _WINDOW == 0:
            numbers[_WEIGHT] *= 1.3 if feasible == 0 else 0.9 if feasible == _WINDOW else 1.0
            feasible = 0
    return 0


FUNCTIONS: Final[dict[Any, Any]] = {anneal: int64(int64)}
