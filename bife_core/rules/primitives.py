"""The few functions compiled rules call that neither numba nor numpy has in this form.

Several numbers arrive as a tuple of floats. Plain loops over it are as fast as anything, and they compile in a tenth
of the time numba needs for numpy's general functions.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
from __future__ import annotations

from typing import Any, Final

import numba
import numpy as np

OPTIONS: Final[dict[str, Any]] = {
    "error_model": "numpy",
    "boundscheck": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
"""How everything a rule consists of is compiled."""

njit: Any = numba.njit  # its published type leaves out the last two options

_INTEGER_LIMIT: Final = float(2**63)


@njit(**OPTIONS)
def to_int(x):
    """Turn a whole float into an integer; NaN and what does not fit 64 bits raise, as machines differ there."""
    if not (-_INTEGER_LIMIT <= x < _INTEGER_LIMIT):
        raise ValueError("NaN, an infinity or a huge number has no integer")
    return np.int64(x)


@njit(**OPTIONS)
def choose(condition, yes, no):
    """Pick one of two values, both of which were computed."""
    return yes if condition else no


@njit(**OPTIONS)
def _ordered(values):
    # numpy's own sort takes a second to compile; no sequence in a rule is long.
    result = np.empty(len(values))
    for i in range(len(values)):
        x, j = values[i], i
        while j > 0 and (x < result[j - 1] or (np.isnan(result[j - 1]) and not np.isnan(x))):
            result[j] = result[j - 1]
            j -= 1
        result[j] = x
    return result


@njit(**OPTIONS)
def ranked(values, place):
    """Return the number at a place of the order from small to large, NaN last."""
    return _ordered(values)[place]


@njit(**OPTIONS)
def median(values):
    """Return the median; NaN if any value is NaN."""
    result = _ordered(values)
    half = result.size // 2
    if np.isnan(result[-1]):
        return np.nan
    return result[half] if result.size % 2 else (result[half - 1] + result[half]) / 2.0


@njit(**OPTIONS)
def variance(values):
    """Return the mean squared distance from the mean."""
    total = 0.0
    for value in values:
        total += value
    mean = total / len(values)
    squares = 0.0
    for value in values:
        squares += (value - mean) * (value - mean)
    return squares / len(values)


@njit(**OPTIONS)
def argmax(values):
    """Return the place of the first NaN, else of the first of the largest values."""
    best = 0
    for i in range(len(values)):
        if np.isnan(values[i]):
            return i
        if values[i] > values[best]:
            best = i
    return best
