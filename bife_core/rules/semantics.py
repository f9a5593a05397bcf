"""What the words of a lowered rule mean when Python runs it: IEEE arithmetic on numpy's int64 and float64.

The interpreted mode finds every name here; the native mode takes numba's own, which means the same. Integers
wrap at 64 bits, booleans count as 0 and 1, and no operation on floats raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from bife_core.rules import helpers
from bife_core.rules.helpers import F, I, add_up, lift, unified
from bife_core.rules.language import (
    MATH_CONSTANTS,
    MATH_FUNCTIONS,
    NUMPY_CONSTANTS,
    NUMPY_FUNCTIONS,
    RESERVED_PREFIX,
)
from bife_core.rules.language import NUMPY_REDUCTIONS as REDUCTIONS
from bife_core.rules.lowering import HELPERS


def add(a: Any, b: Any) -> Any:
    """Add numbers or arrays, or join lists."""
    return a + b if _are_sequences(a, b) else lift(a) + lift(b)


def subtract(a: Any, b: Any) -> Any:
    """Subtract numbers or arrays."""
    return lift(a) - lift(b)


def multiply(a: Any, b: Any) -> Any:
    """Multiply numbers or arrays, or repeat a list."""
    for sequence, count in ((a, b), (b, a)):
        if isinstance(sequence, list | tuple):
            return sequence * int(count)
    return lift(a) * lift(b)


def divide(a: Any, b: Any) -> Any:
    """Divide; a zero divisor gives an infinity or NaN."""
    return np.true_divide(lift(a), lift(b))


def floor_divide(a: Any, b: Any) -> Any:
    """Divide and round down."""
    return lift(a) // lift(b)


def modulo(a: Any, b: Any) -> Any:
    """Remainder with the sign of the divisor."""
    return lift(a) % lift(b)


def power(a: Any, b: Any) -> Any:
    """Raise a float to a float power; NaN for a negative base and a broken exponent.

    The exponents compiled code has a shorter way for take the same way here, to the last bit.
    """
    base, exponent = lift(a), lift(b)
    if isinstance(base, np.ndarray) or isinstance(exponent, np.ndarray):
        return base**exponent
    if exponent == 0.5:
        return F(np.inf) if base == -np.inf else np.abs(np.sqrt(F(base)))
    if exponent == 2.0:
        return F(base) * F(base)
    return F(1.0) / F(base) if exponent == -1.0 else F(base) ** F(exponent)


def whole_power(a: Any, exponent: int) -> Any:
    """Raise to a small literal power by repeated squaring, the order compiled code multiplies in."""
    value = lift(a)
    result = np.ones_like(value)[()]
    while exponent:
        if exponent & 1:
            result = result * value
        exponent >>= 1
        if exponent:
            value = value * value
    return result


def negate(a: Any) -> Any:
    """Change the sign."""
    return -lift(a)


def plus(a: Any) -> Any:
    """Leave the value; a boolean becomes 0 or 1."""
    return +lift(a)


def bit_and(a: Any, b: Any) -> Any:
    """Bitwise and of integers, logical and of booleans."""
    return lift_bits(a) & lift_bits(b)


def bit_or(a: Any, b: Any) -> Any:
    """Bitwise or of integers, logical or of booleans."""
    return lift_bits(a) | lift_bits(b)


def bit_xor(a: Any, b: Any) -> Any:
    """Bitwise exclusive or."""
    return lift_bits(a) ^ lift_bits(b)


def lift_bits(x: Any) -> Any:
    """Like `lift`, but a boolean stays one."""
    return np.bool_(x) if isinstance(x, bool | np.bool_) else lift(x)


def _are_sequences(a: Any, b: Any) -> bool:
    return isinstance(a, list | tuple) and isinstance(b, list | tuple)


def _least(*arguments: Any) -> Any:
    return min(unified([lift(x) for x in arguments]))


def _greatest(*arguments: Any) -> Any:
    return max(unified([lift(x) for x in arguments]))


def _range(*bounds: Any) -> Iterator[Any]:
    return (I(i) for i in range(*(_index(bound) for bound in bounds)))


def _index(x: Any) -> int:
    if not isinstance(x, int | np.integer):
        raise TypeError(f"{x!r} is not an integer")
    return int(x)


def _absolute(x: Any) -> Any:
    return abs(lift(x))


def _length(x: Any) -> Any:
    return I(len(x))


def _libm(function: Callable[..., float], vector: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of `math`: it never raises for floats, and works by element for arrays."""

    def evaluate(*arguments: Any) -> Any:
        if any(isinstance(x, np.ndarray) for x in arguments):
            return vector(*arguments)
        try:
            return F(function(*(float(x) for x in arguments)))
        except (ValueError, OverflowError):
            return F(vector(*(F(x) for x in arguments)))

    return evaluate


def _elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate(*arguments: Any, **options: Any) -> Any:
        return function(*(lift(x) for x in arguments), **options)

    return evaluate


def _in_order(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap a reduction that goes from the first element to the last, as compiled code does."""

    def evaluate(values: Any) -> Any:
        return function(np.asarray(values))

    return evaluate


def _array_sum(values: Any) -> Any:
    return add_up(values, I(0) if values.dtype.kind in "ib" else F(0))


def _array_product(values: Any) -> Any:
    result = I(1) if values.dtype.kind in "ib" else F(1)
    for value in values:
        result = result * value
    return result


def _array_mean(values: Any) -> Any:
    return F(_array_sum(values * 1.0)) / F(values.size)


def _array_variance(values: Any) -> Any:
    mean = _array_mean(values)
    return F(_array_sum(np.abs(values * 1.0 - mean) ** 2)) / F(values.size)


_LIBM: Final = ("sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "hypot")
_CIRCULAR: Final = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
_SAME_IN_LIBM: Final = {
    **{name: name for name in (*_LIBM, *_CIRCULAR)},
    **{f"arc{name}": f"a{name}" for name in (*_CIRCULAR, "tan2")},
}
"""numpy's name to the C library's.

Compiled code calls the latter, and numpy's own vector code may differ from it in the last bit.
"""

_REDUCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "sum": _in_order(_array_sum),
    "prod": _in_order(_array_product),
    "mean": _in_order(_array_mean),
    "var": _in_order(_array_variance),
    "std": _in_order(lambda values: np.sqrt(_array_variance(values))),
}


def _numpy() -> SimpleNamespace:
    space: dict[str, Any] = {name: getattr(np, name) for name in NUMPY_CONSTANTS}
    for name in sorted(NUMPY_FUNCTIONS):
        if name in _SAME_IN_LIBM:
            space[name] = _libm(getattr(math, _SAME_IN_LIBM[name]), getattr(np, name))
        elif name in _REDUCTIONS:
            space[name] = _REDUCTIONS[name]
        elif name in REDUCTIONS or name in ("dot", "array", "asarray", "sort", "cumsum"):
            space[name] = getattr(np, name)
        else:
            space[name] = _elementwise(getattr(np, name))
    return SimpleNamespace(**space)


def _math() -> SimpleNamespace:
    space: dict[str, Any] = {name: getattr(math, name) for name in MATH_CONSTANTS}
    by_libm_name = {libm: name for name, libm in _SAME_IN_LIBM.items()}
    for name in sorted(MATH_FUNCTIONS):
        if name in by_libm_name:
            space[name] = _libm(getattr(math, name), getattr(np, by_libm_name[name]))
        elif name in ("isnan", "isinf", "isfinite", "fabs", "copysign", "degrees", "radians"):
            space[name] = _elementwise(getattr(np, name))
        elif name in ("erf", "erfc"):
            space[name] = _libm(getattr(math, name), getattr(math, name))
    return SimpleNamespace(**space)


def namespace() -> dict[str, Any]:
    """Return the globals an interpreted rule runs with: nothing but the words of the language."""
    builtins: dict[str, Any] = {
        "abs": _absolute,
        "min": _least,
        "max": _greatest,
        "sum": add_up,
        "len": _length,
        "range": _range,
        "bool": bool,
        "enumerate": enumerate,
        "zip": zip,
    }
    shared = {RESERVED_PREFIX + name: getattr(helpers, name) for name in HELPERS}
    operators = {f"{RESERVED_PREFIX}{f.__name__}": f for f in OPERATORS.values()}
    return {"__builtins__": builtins, "np": _numpy(), "math": _math(), **shared, **operators}


OPERATORS: Final[dict[str, Callable[..., Any]]] = {
    "Add": add,
    "Sub": subtract,
    "Mult": multiply,
    "Div": divide,
    "FloorDiv": floor_divide,
    "Mod": modulo,
    "Pow": power,
    "WholePow": whole_power,
    "BitAnd": bit_and,
    "BitOr": bit_or,
    "BitXor": bit_xor,
    "USub": negate,
    "UAdd": plus,
}
"""Syntax node of an operator to the function an interpreted rule calls in its place."""
