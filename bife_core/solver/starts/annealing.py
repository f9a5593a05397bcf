"""The annealing of the local search, which is compiled: moves of binary variables, and what follows from them."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import math
from typing import Any, Final

from numba import int64

from bife_core.solver.jit import jit
from bife_core.solver.scip.compiled.memory import float64_at, float64_view, int64_at, int64_view
from bife_core.solver.starts import layout as at

_TOLERANCE: Final = 1e-7
_SAMPLED: Final = 500
_WINDOW: Final = 500
_HOT: Final = 0.1
_COLD: Final = 0.0003


@jit
def _random(words, below):
    """Return a random integer from 0 on (xorshift)."""
    state = words[at.RANDOM]
    state ^= (state & 0x0007FFFFFFFFFFFF) << 12
    state ^= (state >> 25) & 0x7FFFFFFFFF
    state ^= (state & 0x0000000FFFFFFFFF) << 27
    words[at.RANDOM] = state
    return ((state >> 11) & 0x1FFFFFFFFFFFFF) % below


@jit
def _excess(a, row):
    activity = float64_at(a[at.ACTIVITY])[row]
    excess = max(float64_at(a[at.LHS])[row] - activity, activity - float64_at(a[at.RHS])[row])
    return max(excess, 0.0) * float64_at(a[at.SCALE])[row]


@jit
def _change(a, words, numbers, variable, delta):
    """Change a variable, the activities of its rows and the cost; remember what was, and which followers are dirty."""
    if delta == 0.0:
        return
    var_end, row_end = words[at.N_VARS_LOGGED], words[at.N_ROWS_LOGGED]
    int64_at(a[at.VAR_LOG])[var_end] = variable
    float64_at(a[at.VAR_OLD])[var_end] = float64_at(a[at.VALUE])[variable]
    words[at.N_VARS_LOGGED] = var_end + 1
    float64_at(a[at.VALUE])[variable] += delta
    numbers[at.COST] += float64_at(a[at.OBJECTIVE])[variable] * delta
    first, last = int64_at(a[at.COL_PTR])[variable], int64_at(a[at.COL_PTR])[variable + 1]
    for entry in range(first, last):
        row = int64_at(a[at.COL_ROW])[entry]
        int64_at(a[at.ROW_LOG])[row_end] = row
        float64_at(a[at.ROW_OLD])[row_end] = float64_at(a[at.ACTIVITY])[row]
        row_end += 1
        numbers[at.VIOLATION] -= _excess(a, row)
        float64_at(a[at.ACTIVITY])[row] += float64_at(a[at.COL_VAL])[entry] * delta
        numbers[at.VIOLATION] += _excess(a, row)
        for place in range(int64_at(a[at.ROW_FOLLOWER_PTR])[row], int64_at(a[at.ROW_FOLLOWER_PTR])[row + 1]):
            follower = int64_at(a[at.ROW_FOLLOWER])[place]
            if int64_at(a[at.FOLLOWER])[follower] != variable and not int64_at(a[at.IS_DIRTY])[follower]:
                int64_at(a[at.IS_DIRTY])[follower] = 1
                int64_at(a[at.DIRTY])[words[at.N_DIRTY]] = follower
                words[at.N_DIRTY] += 1
    words[at.N_ROWS_LOGGED] = row_end
    words[at.WORK] -= last - first + 1


@jit
def _follow(a, words, numbers):
    """Give each dirty follower the least value that the rows which define it allow, in their order."""
    dirty = int64_at(a[at.DIRTY])
    while words[at.N_DIRTY]:
        least = 0
        for place in range(1, words[at.N_DIRTY]):
            if dirty[place] < dirty[least]:
                least = place
        follower = dirty[least]
        words[at.WORK] -= words[at.N_DIRTY]
        words[at.N_DIRTY] -= 1
        dirty[least] = dirty[words[at.N_DIRTY]]
        int64_at(a[at.IS_DIRTY])[follower] = 0
        variable = int64_at(a[at.FOLLOWER])[follower]
        present, value = float64_at(a[at.VALUE])[variable], float64_at(a[at.LOWER])[variable]
        first, last = int64_at(a[at.DEFINED_PTR])[follower], int64_at(a[at.DEFINED_PTR])[follower + 1]
        for entry in range(first, last):
            row, factor = int64_at(a[at.DEFINED_ROW])[entry], float64_at(a[at.DEFINED_VAL])[entry]
            side = float64_at(a[at.LHS])[row] if factor > 0.0 else float64_at(a[at.RHS])[row]
            value = max(value, present + (side - float64_at(a[at.ACTIVITY])[row]) / factor)
        words[at.WORK] -= last - first
        value = min(value, float64_at(a[at.UPPER])[variable])
        if abs(value - present) > 1e-12:
            _change(a, words, numbers, variable, value - present)


@jit
def _undo(a, words, numbers, cost, violation):
    for place in range(words[at.N_ROWS_LOGGED] - 1, -1, -1):
        float64_at(a[at.ACTIVITY])[int64_at(a[at.ROW_LOG])[place]] = float64_at(a[at.ROW_OLD])[place]
    for place in range(words[at.N_VARS_LOGGED] - 1, -1, -1):
        float64_at(a[at.VALUE])[int64_at(a[at.VAR_LOG])[place]] = float64_at(a[at.VAR_OLD])[place]
    numbers[at.COST], numbers[at.VIOLATION] = cost, violation


@jit
def _flip(a, words, numbers, variable):
    _change(a, words, numbers, variable, 1.0 - 2.0 * float64_at(a[at.VALUE])[variable])


@jit
def _put(a, words, numbers, group, position):
    """Choose the member of a group at a position instead of its present one; -1 was none."""
    first, slot = int64_at(a[at.GROUP_PTR])[group], int64_at(a[at.SLOT])
    if slot[group] >= 0:
        _change(a, words, numbers, int64_at(a[at.GROUP_MEMBER])[first + slot[group]], -1.0)
    _change(a, words, numbers, int64_at(a[at.GROUP_MEMBER])[first + position], 1.0)
    slot[group] = position


@jit
def _move_groups(a, words, numbers):
    """Move one group to another position, and as often another group the other way; return how to move back."""
    slot, ends = int64_at(a[at.SLOT]), int64_at(a[at.GROUP_PTR])
    group = _random(words, words[at.N_GROUPS])
    size = ends[group + 1] - ends[group]
    old = slot[group]
    new = _random(words, size)
    if new == old:
        return group, old, -1
    other = -1
    if _random(words, 2) == 0:
        for _ in range(20):
            candidate = _random(words, words[at.N_GROUPS])
            if slot[candidate] == new and ends[candidate + 1] - ends[candidate] == size:
                other = candidate
                break
    _put(a, words, numbers, group, new)
    if other >= 0:
        _put(a, words, numbers, other, old)
    return group, old, other


@jit
def _move_free(a, words, numbers):
    """Flip a variable, and as often another of one of its rows that has the other value."""
    variable = int64_at(a[at.FREE])[_random(words, words[at.N_FREE])]
    value = float64_at(a[at.VALUE])[variable]
    first, last = int64_at(a[at.COL_PTR])[variable], int64_at(a[at.COL_PTR])[variable + 1]
    _flip(a, words, numbers, variable)
    if last > first and _random(words, 2) == 0:
        row = int64_at(a[at.COL_ROW])[first + _random(words, last - first)]
        begin, count = (
            int64_at(a[at.ROW_PTR])[row],
            int64_at(a[at.ROW_PTR])[row + 1] - int64_at(a[at.ROW_PTR])[row],
        )
        for _ in range(10):
            other = int64_at(a[at.ROW_COL])[begin + _random(words, count)]
            if (
                other != variable
                and int64_at(a[at.IS_FREE])[other]
                and float64_at(a[at.VALUE])[other] != value
            ):
                _flip(a, words, numbers, other)
                break


@jit
def _keep_best(a, words, numbers):
    if numbers[at.VIOLATION] <= _TOLERANCE and numbers[at.COST] < numbers[at.BEST_COST] - 1e-9 * abs(
        numbers[at.COST]
    ):
        numbers[at.BEST_COST] = numbers[at.COST]
        for variable in range(words[at.N_VARIABLES]):
            float64_at(a[at.BEST])[variable] = float64_at(a[at.VALUE])[variable]


@jit
def _begin(words):
    words[at.N_ROWS_LOGGED] = 0
    words[at.N_VARS_LOGGED] = 0
    words[at.WORK] -= 4


@jit
def _construct(a, words, numbers):
    """Choose in each group, in their order, the member that costs least by then."""
    for group in range(words[at.N_GROUPS]):
        size = int64_at(a[at.GROUP_PTR])[group + 1] - int64_at(a[at.GROUP_PTR])[group]
        least, cheapest = math.inf, 0
        cost, violation = numbers[at.COST], numbers[at.VIOLATION]
        for position in range(size):
            _begin(words)
            _put(a, words, numbers, group, position)
            _follow(a, words, numbers)
            total = numbers[at.COST] + numbers[at.WEIGHT] * numbers[at.VIOLATION]
            if total < least:
                least, cheapest = total, position
            _undo(a, words, numbers, cost, violation)
            int64_at(a[at.SLOT])[group] = -1
        _begin(words)
        _put(a, words, numbers, group, cheapest)
        _follow(a, words, numbers)


@jit
def anneal(addresses):
    """Search until the work is used up; the arrays of the layout lie at `addresses`."""
    a = int64_view(addresses, at.N_ARRAYS)
    words, numbers = int64_view(a[at.WORDS], at.N_WORDS), float64_view(a[at.NUMBERS], at.N_NUMBERS)
    units = words[at.N_GROUPS] + words[at.N_FREE]
    _begin(words)
    _follow(a, words, numbers)
    _construct(a, words, numbers)
    _keep_best(a, words, numbers)
    total, sampled, step, feasible, steps = 0, 0, 0, 0, 0
    objective_changes, violation_changes = 0.0, 0.0
    hot, temperature = 0.0, 0.0
    while words[at.WORK] > 0:
        _begin(words)
        cost, violation = numbers[at.COST], numbers[at.VIOLATION]
        group, old, other = -1, 0, -1
        if _random(words, units) < words[at.N_GROUPS]:
            group, old, other = _move_groups(a, words, numbers)
        else:
            _move_free(a, words, numbers)
        _follow(a, words, numbers)
        more_cost, more_violation = numbers[at.COST] - cost, numbers[at.VIOLATION] - violation
        change = more_cost + numbers[at.WEIGHT] * more_violation
        if sampled < _SAMPLED:  # what moves change, before any is taken
            sampled += 1
            objective_changes += abs(more_cost)
            violation_changes += abs(more_violation)
            if sampled == _SAMPLED:
                total = words[at.WORK]
                hot = _HOT * objective_changes / _SAMPLED
                numbers[at.WEIGHT] = 1.0
                if hot == 0.0:
                    hot = _HOT * violation_changes / _SAMPLED
                elif violation_changes > 0.0:
                    numbers[at.WEIGHT] = 2.0 * objective_changes / violation_changes
            accepted = False
        else:
            if step % 64 == 0:
                temperature = hot * (_COLD / _HOT) ** (1.0 - words[at.WORK] / total)
            step += 1
            accepted = change <= 0.0
            if not accepted and temperature > 0.0:
                accepted = (_random(words, 1 << 30) + 0.5) / (1 << 30) < math.exp(-change / temperature)
        if accepted:
            _keep_best(a, words, numbers)
        else:
            _undo(a, words, numbers, cost, violation)
            if group >= 0:
                slot = int64_at(a[at.SLOT])
                new = slot[group]
                slot[group] = old
                if other >= 0:
                    slot[other] = new
        steps += 1
        feasible += numbers[at.VIOLATION] <= _TOLERANCE
        if steps % _WINDOW == 0:
            if feasible == 0:
                numbers[at.WEIGHT] *= 1.3
            elif feasible == _WINDOW:
                numbers[at.WEIGHT] *= 0.9
            feasible = 0
    return 0


FUNCTIONS: Final[dict[Any, Any]] = {anneal: int64(int64)}
