"""The C a rule's arithmetic is written in: expressions, names, and the functions C's library lacks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

ATOM, UNARY, TIMES, PLUS, RELATION, EQUAL, AND, OR, CHOICE = range(9, 0, -1)
"""How tightly C's operators bind."""


@dataclass(frozen=True, slots=True)
class Code:
    """A C expression: a double, or a truth where one is tested.

    Attributes
    ----------
    text : str
    binds : int
        How tightly its outermost operator does.
    """

    text: str
    binds: int = ATOM

    def within(self, binds: int) -> str:
        """Return the text as the operand of an operator that binds so tightly, in parentheses if need be."""
        return self.text if self.binds >= binds else f"({self.text})"


def number(value: float) -> Code:
    """Return a literal."""
    if math.isnan(value):
        return Code("NAN")
    text = "INFINITY" if math.isinf(value) else repr(abs(float(value)))
    return Code(f"-{text}", UNARY) if math.copysign(1.0, value) < 0 else Code(text)


def call(function: str, *arguments: Code) -> Code:
    """Return a call."""
    return Code(f"{function}({', '.join(argument.text for argument in arguments)})")


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_KEYWORDS: Final = words("""
    auto break case char const continue default do double else enum extern float for goto if inline int
    long register restrict return short signed sizeof static struct switch typedef union unsigned void
    volatile while asm typeof linux unix i386 main near far small
""")

LIBRARY: Final[dict[str, str]] = {
    "py_min": "static double py_min(double a, double b) { return b < a ? b : a; }"
    "  /* Python's min: the first unless the second is less, so that NaN stays where it comes first */",
    "py_max": "static double py_max(double a, double b) { return b > a ? b : a; }"
    "  /* Python's max, likewise */",
    "np_minimum": "static double np_minimum(double a, double b)  /* hands NaN on */\n"
    "{\n   return isnan(a) ? a : isnan(b) || !(a <= b) ? b : a;\n}",
    "np_maximum": "static double np_maximum(double a, double b)  /* hands NaN on */\n"
    "{\n   return isnan(a) ? a : isnan(b) || !(a >= b) ? b : a;\n}",
    "np_fmin": "static double np_fmin(double a, double b) { return isnan(b) ? a : isnan(a) || !(a <= b) ? b : a; }"
    "  /* numpy's fmin */",
    "np_fmax": "static double np_fmax(double a, double b) { return isnan(b) ? a : isnan(a) || !(a >= b) ? b : a; }"
    "  /* numpy's fmax */",
    "floor_mod": """\
static double floor_mod(double x, double y)  /* Python's x % y */
{
   double rest = fmod(x, y);
   if( rest != 0.0 )
      return (y < 0.0) != (rest < 0.0) ? rest + y : rest;
   rest *= rest;
   return y < 0.0 ? -rest : rest;
}""",
    "floor_div": """\
static double floor_div(double x, double y)  /* Python's x // y */
{
   double rest = fmod(x, y);
   double ratio = (x - rest) / y;
   double whole;
   if( y == 0.0 )
      return x / y;
   if( rest != 0.0 && (y < 0.0) != (rest < 0.0) )
      ratio -= 1.0;
   if( ratio == 0.0 )
      return ratio * ratio * x / y;
   whole = floor(ratio);
   return ratio - whole > 0.5 ? whole + 1.0 : whole;
}""",
    "power": """\
static double power(double x, int n)  /* by repeated squaring */
{
   double result = 1.0;
   for( ; n != 0; n >>= 1, x *= x )
      if( n & 1 )
         result *= x;
   return result;
}""",
    "square_root_power": """\
static double square_root_power(double x)  /* x ** 0.5 */
{
   return x == -INFINITY ? INFINITY : fabs(sqrt(x));
}""",
    "sign": "static double sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x == 0.0 ? 0.0 : x; }",
    "square": "static double square(double x) { return x * x; }",
}
"""Functions by name."""

_FUNCTIONS: Final = words("""
    sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh
    atanh floor ceil trunc rint fabs erf erfc fmod hypot copysign atan2 pow isnan isinf isfinite gamma
    y0 y1 yn j0 j1 jn fmin fmax abs llabs div index round remainder
""")

_TAKEN: Final = _KEYWORDS | _FUNCTIONS | LIBRARY.keys() | {"f", "out", "score", "rule"}


def identifier(name: str, prefix: str, used: Iterable[str]) -> str:
    """Return a C name for one of a rule: it hides no function, no macro of SCIP's and no name in `used`."""
    text = name.removeprefix(prefix).removeprefix("__")  # temporaries are `__1` and so on
    text = "".join(c if re.fullmatch(r"\w", c, re.ASCII) else f"_u{ord(c):x}" for c in text)
    if text[:1].isdigit():
        text = f"t{text}"
    # Macros are spelled with capitals, what C and POSIX keep for themselves begins with an underscore.
    if text in _TAKEN or text != text.lower() or text.startswith("_") or text.endswith("_t"):
        text = f"{text.lstrip('_') or 'v'}_"
    while text in used:
        text += "_"
    return text


def library(names: Iterable[str]) -> str:
    """Return the definitions of functions of `LIBRARY`."""
    wanted = set(names)
    return "\n\n".join(text for name, text in LIBRARY.items() if name in wanted)
