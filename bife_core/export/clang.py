"""The C a rule's arithmetic is written in: kinds of numbers, names, and the functions C's library lacks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["flag", "whole", "real"]
"""What an expression is to the machine: a truth, a 64-bit integer or a 64-bit float, as numba has it."""

C_TYPES: Final[dict[Kind, str]] = {"flag": "int", "whole": "int64_t", "real": "double"}

_ORDER: Final[tuple[Kind, ...]] = ("flag", "whole", "real")

ATOM, UNARY, TIMES, PLUS, SHIFT, RELATION, EQUAL, BIT_AND, BIT_XOR, BIT_OR, AND, OR, CHOICE = range(13, 0, -1)
"""How tightly C's operators bind."""


@dataclass(frozen=True, slots=True)
class Code:
    """A C expression.

    Attributes
    ----------
    text : str
    kind : {"flag", "whole", "real"}
    binds : int
        How tightly its outermost operator does.
    """

    text: str
    kind: Kind
    binds: int = ATOM

    def within(self, binds: int) -> str:
        """Return the text as the operand of an operator that binds so tightly, in parentheses if need be."""
        return self.text if self.binds >= binds else f"({self.text})"


def joined(kinds: Iterable[Kind]) -> Kind:
    """Return the kind that holds values of all these kinds."""
    return max(kinds, key=_ORDER.index)


def number(value: float) -> Code:
    """Return a literal."""
    if isinstance(value, bool):
        return Code(str(int(value)), "flag")
    if isinstance(value, int):
        return Code(str(value) if abs(value) < 1000 else f"{value}LL", "whole", ATOM if value >= 0 else UNARY)
    if math.isnan(value):
        return Code("NAN", "real")
    text = "INFINITY" if math.isinf(value) else repr(abs(value))
    return Code(f"-{text}", "real", UNARY) if math.copysign(1.0, value) < 0 else Code(text, "real")


def cast(code: Code, kind: Kind) -> Code:
    """Return an expression as one of another kind; a literal becomes a literal of that kind."""
    if code.kind == kind:
        return code
    if kind == "real" and re.fullmatch(r"-?\d+(LL)?", code.text):
        return number(float(int(code.text.removesuffix("LL"))))
    if kind == "flag":
        return truth(code)
    return Code(f"({C_TYPES[kind]}){code.within(UNARY)}", kind, UNARY)


def truth(code: Code) -> Code:
    """Return whether a number is not zero; NaN is not."""
    if code.kind == "flag":
        return code
    zero = "0.0" if code.kind == "real" else "0"
    return Code(f"{code.within(RELATION)} != {zero}", "flag", EQUAL)


def call(function: str, *arguments: Code, kind: Kind = "real") -> Code:
    """Return a call."""
    return Code(f"{function}({', '.join(argument.text for argument in arguments)})", kind)


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
    "py_min_whole": "static int64_t py_min_whole(int64_t a, int64_t b) { return b < a ? b : a; }",
    "py_max_whole": "static int64_t py_max_whole(int64_t a, int64_t b) { return b > a ? b : a; }",
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
    "whole_div": """\
static int64_t whole_div(int64_t x, int64_t y)  /* Python's x // y; 0 if y is 0 */
{
   int64_t ratio;
   if( y == 0 || (x == INT64_MIN && y == -1) )
      return 0;
   ratio = x / y;
   return x % y != 0 && (x < 0) != (y < 0) ? ratio - 1 : ratio;
}""",
    "whole_mod": """\
static int64_t whole_mod(int64_t x, int64_t y)  /* Python's x % y; 0 if y is 0 */
{
   int64_t rest;
   if( y == 0 || y == -1 )
      return 0;
   rest = x % y;
   return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
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
    "whole_plus": "static int64_t whole_plus(int64_t x, int64_t y) { return (int64_t)((uint64_t)x + (uint64_t)y); }"
    "  /* wraps around */",
    "whole_minus": "static int64_t whole_minus(int64_t x, int64_t y) { return (int64_t)((uint64_t)x - (uint64_t)y); }",
    "whole_times": "static int64_t whole_times(int64_t x, int64_t y) { return (int64_t)((uint64_t)x * (uint64_t)y); }",
    "whole_abs": "static int64_t whole_abs(int64_t x) { return (int64_t)(x < 0 ? 0 - (uint64_t)x : (uint64_t)x); }",
    "whole_power": """\
static int64_t whole_power(int64_t base, int n)
{
   uint64_t result = 1, x = (uint64_t)base;
   for( ; n != 0; n >>= 1, x *= x )
      if( n & 1 )
         result *= x;
   return (int64_t)result;
}""",
    "square_root_power": """\
static double square_root_power(double x)  /* x ** 0.5 */
{
   return x == -INFINITY ? INFINITY : fabs(sqrt(x));
}""",
    "sign": "static double sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x == 0.0 ? 0.0 : x; }",
    "sign_whole": "static int64_t sign_whole(int64_t x) { return (x > 0) - (x < 0); }",
    "square": "static double square(double x) { return x * x; }",
    "nan_to_num": """\
static double nan_to_num(double x, double of_nan, double of_inf, double of_minus_inf)
{
   return isnan(x) ? of_nan : x == INFINITY ? of_inf : x == -INFINITY ? of_minus_inf : x;
}""",
    "logaddexp": """\
static double logaddexp(double x, double y)
{
   double d = x - y;
   if( x == y )
      return x + 0.6931471805599453;
   return d > 0.0 ? x + log1p(exp(-d)) : d <= 0.0 ? y + log1p(exp(d)) : d;
}""",
    "logaddexp2": """\
static double logaddexp2(double x, double y)
{
   double d = x - y;
   if( x == y )
      return x + 1.0;
   return d > 0.0 ? x + 1.4426950408889634 * log1p(exp2(-d))
      : d <= 0.0 ? y + 1.4426950408889634 * log1p(exp2(d)) : d;
}""",
    "to_whole": """\
static int64_t to_whole(double x, int* failed)  /* NaN and what does not fit have no integer */
{
   if( !(-9223372036854775808.0 <= x && x < 9223372036854775808.0) )
   {
      *failed = 1;
      return 0;
   }
   return (int64_t)x;
}""",
    "place": """\
static int64_t place(int64_t i, int64_t n, int* failed)  /* Python's index: from the end if negative */
{
   if( i < 0 )
      i += n;
   if( i >= 0 && i < n )
      return i;
   *failed = 1;
   return 0;
}""",
    "ordered": """\
static void ordered(const double* values, int n, double* result)  /* from small to large, NaN last */
{
   int i, j;
   for( i = 0; i < n; ++i )
   {
      double x = values[i];
      for( j = i; j > 0 && (x < result[j - 1] || (isnan(result[j - 1]) && !isnan(x))); --j )
         result[j] = result[j - 1];
      result[j] = x;
   }
}""",
    "ranked": """\
static double ranked(const double* values, int n, int rank)
{
   double result[300];
   ordered(values, n, result);
   return result[rank];
}""",
    "median": """\
static double median(const double* values, int n)
{
   double result[300];
   ordered(values, n, result);
   if( isnan(result[n - 1]) )
      return NAN;
   return n % 2 ? result[n / 2] : (result[n / 2 - 1] + result[n / 2]) / 2.0;
}""",
    "variance": """\
static double variance(const double* values, int n)
{
   double total = 0.0, mean, squares = 0.0;
   int i;
   for( i = 0; i < n; ++i )
      total += values[i];
   mean = total / (double)n;
   for( i = 0; i < n; ++i )
      squares += (values[i] - mean) * (values[i] - mean);
   return squares / (double)n;
}""",
    "first_largest": """\
static int64_t first_largest(const double* values, int n)  /* place of the first NaN, else of the largest */
{
   int best = 0, i;
   for( i = 0; i < n; ++i )
   {
      if( isnan(values[i]) )
         return i;
      if( values[i] > values[best] )
         best = i;
   }
   return best;
}""",
}
"""Functions by name, those that others need before these."""

_NEEDS: Final = {"ranked": "ordered", "median": "ordered"}

C_FUNCTIONS: Final = words("""
    sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh
    atanh floor ceil trunc rint fabs erf erfc fmod hypot copysign atan2 pow isnan isinf isfinite gamma
    y0 y1 yn j0 j1 jn fmin fmax abs llabs div index round remainder
""")

_TAKEN: Final = _KEYWORDS | C_FUNCTIONS | LIBRARY.keys() | {"f", "failed", "out", "score", "rule"}


def identifier(name: str, prefix: str, used: Iterable[str]) -> str:
    """Return a C name for one of a rule: it hides no function, no macro of SCIP's and no name in `used`."""
    text = name.removeprefix(prefix)
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
    """Return the definitions of functions of `LIBRARY`, with those they call."""
    wanted = set(names)
    wanted |= {_NEEDS[name] for name in wanted if name in _NEEDS}
    return "\n\n".join(text for name, text in LIBRARY.items() if name in wanted)
