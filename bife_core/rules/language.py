"""The language a rule may use: every name it can mention, and how large it may be.

Anything not listed here is rejected by `bife_core.rules.checking`. One more function of numbers that numba knows is
one more word below, and its C in `bife_core.export`.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

FUNCTION_NAME: Final = "candidate_variable_score"

RESERVED_PREFIX: Final = "_bife_"
"""A rule's variable that has the name of a builtin is spelled with it in generated code."""

MAX_SOURCE_CHARACTERS: Final = 20_000
MAX_NODES: Final = 3_000
MAX_DEPTH: Final = 100
MAX_FUNCTIONS: Final = 20
MAX_WRITTEN_OUT: Final = 10_000
"""Syntax nodes of what is compiled, with loops written out, and helpers wherever they are called."""
MAX_INTEGER: Final = 2**53
MAX_POWER: Final = 64
"""Largest literal exponent computed by repeated multiplication; larger ones are taken as floats."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


NUMPY_UNARY: Final = _names("""
    abs absolute fabs negative sign sqrt cbrt square exp exp2 expm1 log log2 log10 log1p
    sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh
    floor ceil trunc rint round around isnan isinf isfinite nan_to_num logical_not float64
""")
NUMPY_BINARY: Final = _names("""
    add subtract multiply divide true_divide floor_divide mod remainder fmod power float_power
    maximum minimum fmax fmin arctan2 hypot copysign
    logical_and logical_or logical_xor greater greater_equal less less_equal equal not_equal
""")
NUMPY_FUNCTIONS: Final = NUMPY_UNARY | NUMPY_BINARY | _names("where clip")

MATH_FUNCTIONS: Final = _names("""
    sqrt cbrt exp exp2 expm1 log log2 log10 log1p pow fabs floor ceil trunc fmod hypot copysign
    sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc
    isnan isinf isfinite
""")

BUILTINS: Final = _names("abs min max float int bool round pow range")

KEYWORDS: Final = {
    "np.clip": _names("a_min a_max min max"),
    "np.nan_to_num": _names("nan posinf neginf"),
    "np.round": _names("decimals"),
    "np.around": _names("decimals"),
    "round": _names("ndigits"),
}
"""Keyword arguments by canonical function name; every other call takes positions only."""

FUNCTIONS: Final = (
    frozenset(f"np.{name}" for name in NUMPY_FUNCTIONS)
    | frozenset(f"math.{name}" for name in MATH_FUNCTIONS)
    | BUILTINS
)
"""Canonical names of all functions a rule may call."""

CONSTANTS: Final[dict[str, float]] = {
    **{f"np.{name}": float(getattr(np, name)) for name in ("pi", "e", "inf", "nan", "euler_gamma")},
    **{f"math.{name}": float(getattr(math, name)) for name in ("pi", "e", "tau", "inf", "nan")},
}
"""Values of constants by canonical name."""

NONLINEAR: Final = (
    frozenset(
        f"np.{name}"
        for name in (
            NUMPY_UNARY
            - _names("negative float64 isnan isinf isfinite logical_not nan_to_num")
            - _names("round around rint floor ceil trunc")
        )
        | _names("reciprocal power float_power arctan2 hypot logaddexp logaddexp2")
    )
    | frozenset(
        f"math.{name}"
        for name in MATH_FUNCTIONS - _names("floor ceil trunc fmod copysign isnan isinf isfinite")
    )
    | _names("abs pow")
)
"""Functions the complexity metric counts as non-linear."""

CLAMPS: Final = frozenset(
    {"min", "max", "np.minimum", "np.maximum", "np.fmin", "np.fmax", "np.clip", "np.where"}
)
"""Functions the complexity metric counts as branches."""
