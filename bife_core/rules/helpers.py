"""The few functions lowered code calls that neither Python nor numpy has in this form.

Python runs them as they stand; `bife_core.rules.overloads` gives numba the same functions for compiled rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

F = np.float64
I = np.int64  # noqa: E741 - the integer beside F

INTEGER_LIMIT: Final = float(2**63)


def lift(x: Any) -> Any:
    """Turn a Python or numpy scalar into int64 or float64; leave sequences and arrays alone."""
    kind = type(x)
    if kind is F or kind is I:
        return x
    if kind is float:
        return F(x)
    if isinstance(x, int | np.bool_ | np.integer):
        return I(x)
    return F(x) if isinstance(x, np.floating) else x


def unified(values: list[Any]) -> list[Any]:
    """Give numbers one type, as compiled code gives all arguments of `min` one."""
    return [F(value) for value in values] if any(type(value) is F for value in values) else values


def add_up(values: Iterable[Any], start: Any = 0) -> Any:
    """Add from the first to the last."""
    total = lift(start)
    for value in values:
        total = total + lift(value)
    return total


def to_int(x: Any) -> Any:
    """Turn a whole float into an integer.

    Raises
    ------
    ValueError
        If it is NaN or does not fit 64 bits, where machines differ.
    """
    if not -INTEGER_LIMIT <= x < INTEGER_LIMIT:
        raise ValueError("NaN, an infinity or a huge number has no integer")
    return I(x)


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """Pick `yes` or `no`; by element if anything is an array."""
    if any(isinstance(x, np.ndarray | list | tuple) for x in (condition, yes, no)):
        n = max(extent(condition), extent(yes), extent(no))
        return np.array([at(yes, i) if at(condition, i) else at(no, i) for i in range(n)])
    yes, no = lift(yes), lift(no)
    if type(yes) is not type(no):
        yes, no = F(yes), F(no)
    return yes if condition else no


def extent(x: Any) -> int:
    """Return the length of a sequence, 1 for a number."""
    return len(x) if isinstance(x, np.ndarray | list | tuple) else 1


def at(x: Any, i: int) -> Any:
    """Return element `i` of a sequence as a float, or the number itself."""
    return lift(x[i] if isinstance(x, np.ndarray | list | tuple) else x) * F(1.0)


def any_true(values: Iterable[Any]) -> bool:
    """Tell whether some value is not zero."""
    return any(bool(value) for value in values)


def all_true(values: Iterable[Any]) -> bool:
    """Tell whether no value is zero."""
    return all(bool(value) for value in values)


def largest(values: Any) -> Any:
    """Return the first of the largest values.

    Raises
    ------
    ValueError
        If there is none.
    """
    return max(unified([lift(value) for value in values]))


def smallest(values: Any) -> Any:
    """Return the first of the smallest values.

    Raises
    ------
    ValueError
        If there is none.
    """
    return min(unified([lift(value) for value in values]))


def inner(a: Any, b: Any) -> Any:
    """Return the inner product of two sequences of the same length, added up from the first.

    Raises
    ------
    ValueError
        If the lengths differ.
    """
    if len(a) != len(b):
        raise ValueError("an inner product needs sequences of the same length")
    return add_up([lift(x) * lift(y) for x, y in zip(a, b, strict=True)], F(0.0))


def ordered(values: Any) -> Any:
    """Return the values as floats from small to large, NaN last."""
    return np.sort(np.asarray(values) * 1.0)


def middle(values: Any) -> Any:
    """Return the median; NaN if any value is NaN, or if there is none."""
    result = ordered(values)
    half = result.size // 2
    if result.size == 0 or np.isnan(result[-1]):
        return F(np.nan)
    return result[half] if result.size % 2 else (result[half - 1] + result[half]) / F(2.0)
