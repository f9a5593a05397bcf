"""Scalar programs as text of LLVM: the same operations in the same order, on doubles alone, without memory or loops."""

from __future__ import annotations

import ast
import math
import struct
from collections.abc import Sequence
from functools import cache
from typing import Final

from bife_core.language.rules.language import CONSTANTS, words
from bife_core.language.rules.module import parameters
from bife_core.language.rules.types import Program
from bife_core.language.syntax import assigned

_EXACT: Final = {
    **dict.fromkeys(("abs", "np.fabs", "math.fabs"), "llvm.fabs.f64"),
    **{
        f"{module}.{name}": f"llvm.{name}.f64"
        for module in ("np", "math")
        for name in ("sqrt", "floor", "ceil", "trunc", "rint")
    },
}
"""Functions that the processor computes, rounded correctly."""

_LIBRARY: Final = {
    **{
        f"{module}.{name}": name
        for module in ("np", "math")
        for name in words("""
            cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
            erf erfc hypot atan2
        """)
    },
    **{f"np.arc{name}": f"a{name}" for name in ("cos", "sin", "tan", "cosh", "sinh", "tanh", "tan2")},
}
"""Functions of the C library."""

_DEFINED: Final = """
def py_min(a, b):
    return b if b < a else a

def py_max(a, b):
    return b if b > a else a

def np_minimum(a, b):
    return a if a != a or a <= b else b

def np_maximum(a, b):
    return a if a != a or a >= b else b

def np_fmin(a, b):
    return a if b != b or a <= b else b

def np_fmax(a, b):
    return a if b != b or a >= b else b

def np_sign(x):
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0 if x == 0.0 else x

def root_power(x):
    return np.inf if x == (-np.inf) else abs(math.sqrt(x))

def floor_mod(x, y):
    rest = math.fmod(x, y)
    if rest != 0.0:
        return rest if (y < 0.0 and rest < 0.0) or (y >= 0.0 and rest > 0.0) or rest != rest else rest + y
    rest = rest * rest
    return -rest if y < 0.0 else rest

def floor_div(x, y):
    if y == 0.0:
        return x / y
    rest = math.fmod(x, y)
    ratio = (x - rest) / y
    if rest != 0.0 and ((y < 0.0 and not rest < 0.0) or (not y < 0.0 and rest < 0.0)):
        ratio = ratio - 1.0
    if ratio == 0.0:
        return ratio * ratio * x / y
    whole = np.floor(ratio)
    return whole + 1.0 if ratio - whole > 0.5 else whole
"""
"""What Python and NumPy compute that neither processor nor library does."""

_BINARY: Final = ("hypot", "atan2", "pow")

_NUMPY: Final = {f"np.{name}": f"np_{name}" for name in ("minimum", "maximum", "fmin", "fmax", "sign")}

_ARITHMETIC: Final = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_TESTS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "oeq",
    ast.NotEq: "une",
    ast.Lt: "olt",
    ast.LtE: "ole",
    ast.Gt: "ogt",
    ast.GtE: "oge",
}


def rule_in_llvm(program: Program, name: str) -> str:
    """Return a module with the function ``int64_t name(const double *X, int64_t n, double *out)``, which returns 0.

    `X` is row-major, n x `component.n_features`; `out` gets the scores.
    """
    texts = _functions(program.text)
    read, width, scorer = sorted(program.features), program.component.n_features, [*texts][-1]
    loads = "".join(
        f"""
  %p{feature} = getelementptr inbounds double, ptr %row, i64 {feature}
  %f{feature} = load double, ptr %p{feature}"""
        for feature in read
    )
    arguments = ", ".join(f"double %f{feature}" for feature in read)
    loop = f"""
define i64 @{name}(ptr %X, i64 %n, ptr %out) nounwind {{
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %end
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %first = mul i64 %i, {width}
  %row = getelementptr inbounds double, ptr %X, i64 %first{loads}
  %score = call double @{scorer}({arguments})
  %place = getelementptr inbounds double, ptr %out, i64 %i
  store double %score, ptr %place
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret i64 0
}}
"""
    body = "\n".join(texts.values())
    body = "\n".join([body, *(text for name, text in _defined().items() if f"@{name}(" in body)])
    declared = [
        f"declare double @{function}({', '.join(['double'] * (1 + (function in _BINARY)))}) {attributes}"
        for functions, attributes in (({*_LIBRARY.values(), "pow"}, "#0"), ({*_EXACT.values()}, "#1"))
        for function in sorted(functions)
        if f"@{function}(" in body
    ]
    # The compiler must not know better what the library computes: C compilers and NumPy call it too.
    attributes = (
        "attributes #0 = { nobuiltin nounwind willreturn memory(none) }",
        "attributes #1 = { nounwind willreturn memory(none) }",
    )
    return "\n".join((*declared, body, loop, *attributes))


def _functions(text: str) -> dict[str, str]:
    """Return the functions of a scalar program by name."""
    return {
        node.name: _Writer(node).text for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)
    }


@cache
def _defined() -> dict[str, str]:
    return _functions(_DEFINED)


class _Writer:
    """Writes one function: each name is a place on the stack, which the compiler puts into registers."""

    def __init__(self, source: ast.FunctionDef) -> None:
        self._lines: list[str] = []
        self._count = 0
        self._block = "entry"
        self._ended = False
        arguments = parameters(source)
        for name in dict.fromkeys((*arguments, *assigned(source))):
            self._emit(f"%{name}.at = alloca double")
        for name in arguments:
            self._emit(f"store double %{name}, ptr %{name}.at")
        self._statements(source.body)
        if not self._ended:
            self._emit("unreachable")
        head = ", ".join(f"double %{name}" for name in arguments)
        body = "\n".join(self._lines)
        self.text = f"define internal double @{source.name}({head}) nounwind {{\nentry:\n{body}\n}}"

    def _emit(self, line: str) -> None:
        self._lines.append(f"  {line}")

    def _new(self, line: str) -> str:
        self._count += 1
        self._emit(f"%t{self._count} = {line}")
        return f"%t{self._count}"

    def _labels(self, count: int) -> list[str]:
        self._count += 1
        return [f"b{self._count}.{place}" for place in range(count)]

    def _enter(self, label: str) -> None:
        self._lines.append(f"{label}:")
        self._block, self._ended = label, False

    def _leave(self, label: str) -> None:
        if not self._ended:
            self._emit(f"br label %{label}")
        self._ended = True

    def _statements(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._emit(f"store double {self._number(value)}, ptr %{name}.at")
                case ast.Return(value=ast.expr() as value):
                    self._emit(f"ret double {self._number(value)}")
                    self._ended = True
                case ast.If(test=test, body=body, orelse=orelse):
                    yes, no, end = self._labels(3)
                    self._branch(test, yes, no)
                    runs_on = False
                    for label, part in ((yes, body), (no, orelse)):
                        self._enter(label)
                        self._statements(part)
                        runs_on |= not self._ended
                        self._leave(end)
                    if runs_on:
                        self._enter(end)
                case ast.Pass():
                    pass
                case _:
                    raise TypeError(ast.unparse(statement))

    def _number(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=int() | float() as value):
                return _constant(float(value))
            case ast.Attribute():
                return _constant(CONSTANTS[ast.unparse(node)])
            case ast.Name(id=name):
                return self._new(f"load double, ptr %{name}.at")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._new(f"fneg double {self._number(operand)}")
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(left, op, right)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                yes, no, end = self._labels(3)
                self._branch(test, yes, no)
                results = []
                for label, part in ((yes, body), (no, orelse)):
                    self._enter(label)
                    results.append(f"[ {self._number(part)}, %{self._block} ]")
                    self._leave(end)
                self._enter(end)
                return self._new(f"phi double {', '.join(results)}")
            case ast.Call(func=func, args=arguments):
                return self._called(ast.unparse(func), [self._number(argument) for argument in arguments])
        raise TypeError(ast.unparse(node))

    def _operation(self, left: ast.expr, op: ast.operator, right: ast.expr) -> str:
        base = self._number(left)
        match op, right:
            case ast.Pow(), ast.Constant(value=int(exponent)):
                return self._power(base, exponent)
            case ast.Pow(), _:
                return self._float_power(base, self._number(right))
            case ast.FloorDiv(), _:
                return self._call("floor_div", [base, self._number(right)])
            case ast.Mod(), _:
                return self._call("floor_mod", [base, self._number(right)])
        return self._new(f"{_ARITHMETIC[type(op)]} double {base}, {self._number(right)}")

    def _float_power(self, base: str, exponent: str) -> str:
        unity, two = _constant(1.0), _constant(2.0)
        if exponent == unity:
            return base
        if exponent == two:
            return self._new(f"fmul double {base}, {base}")
        if exponent == _constant(-1.0):
            return self._new(f"fdiv double {unity}, {base}")
        if exponent == _constant(0.5):
            return self._call("root_power", [base])
        return self._call("exp2", [exponent]) if base == two else self._call("pow", [base, exponent])

    def _power(self, base: str, exponent: int) -> str:
        """Multiply, squaring repeatedly."""
        result = None
        while exponent:
            if exponent & 1:
                result = base if result is None else self._new(f"fmul double {result}, {base}")
            if exponent := exponent >> 1:
                base = self._new(f"fmul double {base}, {base}")
        return _constant(1.0) if result is None else result

    def _call(self, name: str, arguments: Sequence[str]) -> str:
        return self._new(f"call double @{name}({', '.join(f'double {text}' for text in arguments)})")

    def _called(self, name: str, arguments: list[str]) -> str:
        if name in ("min", "max"):
            result, *others = arguments
            for other in others:
                result = self._call(f"py_{name}", [result, other])
            return result
        if name == "math.fmod":
            return self._new(f"frem double {', '.join(arguments)}")
        return self._call(_EXACT.get(name) or _LIBRARY.get(name) or _NUMPY.get(name) or name, arguments)

    def _branch(self, test: ast.expr, yes: str, no: str) -> None:
        """Go on at one of two labels."""
        match test:
            case ast.Constant(value=bool(value)):
                self._leave(yes if value else no)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._branch(operand, no, yes)
            case ast.BoolOp(op=op, values=[*first, last]):
                for part in first:
                    (further,) = self._labels(1)
                    self._branch(part, *((further, no) if isinstance(op, ast.And) else (yes, further)))
                    self._enter(further)
                self._branch(last, yes, no)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                terms = [self._number(part) for part in (left, *comparators)]
                tests = [
                    self._new(f"fcmp {_TESTS[type(op)]} double {a}, {b}")
                    for a, op, b in zip(terms, ops, terms[1:], strict=False)
                ]
                self._leave_by(tests, yes, no)
            case ast.Call(func=func, args=[argument]):
                number = self._number(argument)
                match ast.unparse(func):
                    case "math.isnan":
                        result = self._new(f"fcmp uno double {number}, {number}")
                    case name:
                        size = self._call("llvm.fabs.f64", [number])
                        kind = "oeq" if name == "math.isinf" else "one"
                        result = self._new(f"fcmp {kind} double {size}, {_constant(math.inf)}")
                self._leave_by([result], yes, no)
            case _:
                raise TypeError(ast.unparse(test))

    def _leave_by(self, tests: Sequence[str], yes: str, no: str) -> None:
        result, *others = tests
        for other in others:
            result = self._new(f"and i1 {result}, {other}")
        self._emit(f"br i1 {result}, label %{yes}, label %{no}")
        self._ended = True


def _constant(value: float) -> str:
    """Return a double by its bits, as LLVM's text has them."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"
