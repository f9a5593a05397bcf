"""numba's side of `bife_core.rules.helpers`: the same functions, for compiled rules.

Sequences in a rule are short, so plain loops are as fast as anything, and they compile in a tenth of the time
numba needs for numpy's general functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np
from numba import types
from numba.extending import overload

from bife_core.rules import helpers

SCALARS: Final = (types.Float, types.Integer, types.Boolean)
"""numba's types of single numbers."""

_Typed = TypeVar("_Typed", bound=Callable[..., Any])


def _compiled(helper: Callable[..., Any]) -> Callable[[_Typed], _Typed]:
    """Let numba take the function a decorated one returns, for the given types, in place of `helper`."""
    # numba does not hand a caller's bounds checks down: without its own, `at` would read beyond an array's end.
    return overload(helper, jit_options={"boundscheck": True})  # type: ignore[no-any-return, unused-ignore]


@_compiled(helpers.to_int)
def _to_int(x: Any) -> Any:
    limit = helpers.INTEGER_LIMIT

    def to_int(x: Any) -> Any:
        if not (-limit <= x < limit):
            raise ValueError("NaN, an infinity or a huge number has no integer")
        return np.int64(x)

    return to_int if isinstance(x, SCALARS) else None


@_compiled(helpers.choose)
def _choose(condition: Any, yes: Any, no: Any) -> Any:
    # numpy's own `where` takes seconds to compile for arrays.
    def number(condition: Any, yes: Any, no: Any) -> Any:
        return yes if condition else no

    def array(condition: Any, yes: Any, no: Any) -> Any:
        n = max(helpers.extent(condition), helpers.extent(yes), helpers.extent(no))
        result = np.empty(n)
        for i in range(n):
            result[i] = helpers.at(yes, i) if helpers.at(condition, i) else helpers.at(no, i)
        return result

    return number if all(isinstance(x, SCALARS) for x in (condition, yes, no)) else array


@_compiled(helpers.extent)
def _extent(x: Any) -> Any:
    def scalar(x: Any) -> Any:
        return 1

    def array(x: Any) -> Any:
        return len(x)

    return scalar if isinstance(x, SCALARS) else array


@_compiled(helpers.at)
def _at(x: Any, i: Any) -> Any:
    def scalar(x: Any, i: Any) -> Any:
        return x * 1.0

    def array(x: Any, i: Any) -> Any:
        return x[i] * 1.0

    return scalar if isinstance(x, SCALARS) else array


@_compiled(helpers.any_true)
def _any_true(values: Any) -> Any:
    def any_true(values: Any) -> Any:
        for value in values:  # noqa: SIM110 - numba has no any()
            if value:
                return True
        return False

    return any_true


@_compiled(helpers.all_true)
def _all_true(values: Any) -> Any:
    def all_true(values: Any) -> Any:
        for value in values:  # noqa: SIM110 - numba has no all()
            if not value:
                return False
        return True

    return all_true


@_compiled(helpers.largest)
def _largest(values: Any) -> Any:
    def largest(values: Any) -> Any:
        if len(values) == 0:
            raise ValueError("there is no largest of nothing")
        best = values[0]
        for i in range(1, len(values)):
            if values[i] > best:
                best = values[i]
        return best

    return largest


@_compiled(helpers.smallest)
def _smallest(values: Any) -> Any:
    def smallest(values: Any) -> Any:
        if len(values) == 0:
            raise ValueError("there is no smallest of nothing")
        best = values[0]
        for i in range(1, len(values)):
            if values[i] < best:
                best = values[i]
        return best

    return smallest


@_compiled(helpers.inner)
def _inner(a: Any, b: Any) -> Any:
    # numpy's own goes through a BLAS, which adds up in an order of its own.
    def inner(a: Any, b: Any) -> Any:
        if len(a) != len(b):
            raise ValueError("an inner product needs sequences of the same length")
        total = 0.0
        for i in range(len(a)):
            total += a[i] * b[i]
        return total

    return inner


@_compiled(helpers.ordered)
def _ordered(values: Any) -> Any:
    # numpy's own sort takes a second to compile; no sequence in a rule is long.
    def ordered(values: Any) -> Any:
        result = np.empty(len(values))
        for i in range(len(values)):
            x, j = values[i] * 1.0, i
            while j > 0 and (x < result[j - 1] or (np.isnan(result[j - 1]) and not np.isnan(x))):
                result[j] = result[j - 1]
                j -= 1
            result[j] = x
        return result

    return ordered


@_compiled(helpers.middle)
def _middle(values: Any) -> Any:
    def middle(values: Any) -> Any:
        result = helpers.ordered(values)
        half = result.size // 2
        if result.size == 0 or np.isnan(result[-1]):
            return np.nan
        return result[half] if result.size % 2 else (result[half - 1] + result[half]) / 2.0

    return middle
