"""The names that a rule may use, with their LLVM in `llvm` and their C in `solver.export`; how large it may be."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

MAX_SOURCE_CHARACTERS: Final = 20_000
MAX_NODES: Final = 3_000
MAX_DEPTH: Final = 100
MAX_FUNCTIONS: Final = 20
MAX_WRITTEN_OUT: Final = 5_000
"""Operations of a scalar program, with loops unrolled, and helpers counted at every call."""
MAX_INTEGER: Final = 2**53
MAX_POWER: Final = 64
"""Largest literal exponent computed by repeated multiplication; larger ones are taken as floats."""


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


NUMPY_FUNCTIONS: Final = words("""
    abs absolute fabs sign sqrt cbrt square exp exp2 expm1 log log2 log10 log1p
    sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh
    floor ceil trunc rint round isnan isinf isfinite float64
    power maximum minimum fmax fmin arctan2 hypot where clip
""")
MATH_FUNCTIONS: Final = words("""
    sqrt cbrt exp exp2 expm1 log log2 log10 log1p pow fabs floor ceil trunc hypot
    sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc
    isnan isinf isfinite
""")
BUILTINS: Final = words("abs min max float int bool round pow range")

FUNCTIONS: Final = (
    frozenset(f"np.{name}" for name in NUMPY_FUNCTIONS)
    | frozenset(f"math.{name}" for name in MATH_FUNCTIONS)
    | BUILTINS
)
"""Canonical names of all functions a rule may call."""

RENAMED: Final = {
    "math.exp2": "np.exp2",
    "math.cbrt": "np.cbrt",
    "math.floor": "np.floor",
    "math.ceil": "np.ceil",
    "math.trunc": "np.trunc",
    "int": "np.trunc",
    "round": "np.rint",
    "np.round": "np.rint",
    "np.absolute": "abs",
    "np.abs": "abs",
}
"""Functions that scalar programs call by another name."""

TESTS: Final = {f"{module}.{name}" for module in ("np", "math") for name in ("isnan", "isinf", "isfinite")}
POWERS: Final = ("pow", "math.pow", "np.power")
ARGUMENTS: Final = {
    **dict.fromkeys((*POWERS, "np.maximum", "np.minimum", "np.fmax", "np.fmin"), 2),
    **dict.fromkeys(("np.arctan2", "math.atan2", "np.hypot", "math.hypot"), 2),
    "np.where": 3,
    "np.clip": 3,
}
"""Numbers of arguments other than one."""

CONSTANTS: Final[dict[str, float]] = {
    **{f"np.{name}": float(getattr(np, name)) for name in ("pi", "e", "inf", "nan", "euler_gamma")},
    **{f"math.{name}": float(getattr(math, name)) for name in ("pi", "e", "tau", "inf", "nan")},
}

NONLINEAR: Final = words("abs pow") | {
    f"{module}.{name}"
    for module in ("np", "math")
    for name in words("""
        abs absolute fabs sign sqrt cbrt square reciprocal exp exp2 expm1 log log2 log10 log1p pow power
        sin cos tan arcsin arccos arctan asin acos atan sinh cosh tanh arcsinh arccosh arctanh asinh acosh atanh
        arctan2 atan2 hypot erf erfc float_power logaddexp logaddexp2
    """)
}
"""Functions the complexity metric counts as non-linear."""

CLAMPS: Final = frozenset(
    {"min", "max", "np.minimum", "np.maximum", "np.fmin", "np.fmax", "np.clip", "np.where"}
)
"""Functions the complexity metric counts as branches."""
