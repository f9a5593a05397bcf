"""Scalar programs and formulas of features in C: the same operations in the same order."""

from __future__ import annotations

import ast
import inspect
import math
import typing
from collections.abc import Callable
from functools import cache, reduce
from textwrap import dedent
from typing import Any, Final

from bife_core.base.errors import RuleError
from bife_core.language.features import FEATURES
from bife_core.language.rules.language import CONSTANTS, words
from bife_core.language.rules.module import COMPARISONS, OPERATORS, parameters
from bife_core.language.rules.types import Program
from bife_core.language.syntax import assigned

_SAME: Final = words("""
    sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh
    atanh floor ceil trunc rint fabs erf erfc hypot atan2
""")
_FUNCTIONS: Final = {
    **{f"{module}.{name}": name for module in ("np", "math") for name in _SAME},
    **{f"np.arc{name}": f"a{name}" for name in ("cos", "sin", "tan", "cosh", "sinh", "tanh", "tan2")},
    **{f"np.{name}": f"np_{name}" for name in ("minimum", "maximum", "fmin", "fmax", "sign")},
    "abs": "fabs",
}
"""C functions by the names of a scalar program."""

_TESTS: Final = ("math.isnan", "math.isinf", "math.isfinite")
_SIGNS: Final[dict[type[ast.AST], str]] = {
    **{kind: sign for kind, (sign, _) in OPERATORS.items()},
    **COMPARISONS,
    ast.And: "&&",
    ast.Or: "||",
}


def number(value: float) -> str:
    """Return a literal."""
    if math.isnan(value):
        return "NAN"
    return repr(float(value)).replace("inf", "INFINITY")


def feature_constant(index: int) -> str:
    """Return the C name of a feature's place."""
    return FEATURES[index].name.upper()


def rule_in_c(program: Program) -> str:
    """Return a scalar program in C, the last of whose functions is ``double score(const double* f)``."""
    *helpers, scorer = [node for node in ast.parse(program.text).body if isinstance(node, ast.FunctionDef)]
    texts = []
    for helper in helpers:
        names = parameters(helper)
        head = f"double {helper.name}({', '.join(f'double {name}' for name in names) or 'void'})"
        texts.append(Writer(helper).function(head, names))
    unread = () if program.features else ("   (void)f;",)
    texts.append(Writer(scorer).function("double score(const double* f)", parameters(scorer), unread))
    return "\n\n".join(texts)


class Writer:
    """Writes one function, all of whose variables are doubles."""

    def __init__(self, source: ast.FunctionDef) -> None:
        self.source = source
        self.lines: list[str] = []
        self._features = {f"f{index}": f"f[{feature_constant(index)}]" for index in range(len(FEATURES))}

    def function(self, head: str, arguments: list[str], first: tuple[str, ...] = ()) -> str:
        """Return the function, with the declarations of its variables but its arguments."""
        self._block(self.source.body, 1)
        names = dict.fromkeys(name for name in assigned(self.source) if name not in arguments)
        declared = [f"   double {', '.join(names)};"] if names else []
        return "\n".join((f"static {head}", "{", *declared, *first, *self.lines, "}"))

    def _emit(self, text: str, depth: int) -> None:
        self.lines.append("   " * depth + text)

    def _block(self, statements: list[ast.stmt], depth: int) -> None:
        for statement in statements:
            self.statement(statement, depth)

    def _braced(self, head: str, body: list[ast.stmt], depth: int) -> None:
        self._emit(head, depth)
        self._emit("{", depth)
        self._block(body, depth + 1)
        self._emit("}", depth)

    def statement(self, node: ast.stmt, depth: int) -> None:
        """Write one statement."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._emit(f"{name} = {self.code(value)};", depth)
            case ast.If(test=test, body=body, orelse=orelse):
                self._braced(f"if( {self.code(test)} )", body, depth)
                if orelse:
                    self._braced("else", orelse, depth)
            case ast.Return(value=ast.expr() as value):
                self._emit(f"return {self.code(value)};", depth)
            case ast.Pass():
                self._emit(";", depth)
            case _:
                raise self._unknown(node)

    def _unknown(self, node: ast.AST) -> RuleError:
        where = getattr(node, "lineno", 0)
        return RuleError(f"{self.source.name} cannot be exported: its line {where} has no counterpart in C.")

    def code(self, node: ast.expr) -> str:
        """Return an expression, or raise `RuleError` if it has no C."""
        match node:
            case ast.Constant(value=bool(value)):
                return str(int(value))
            case ast.Constant(value=int() | float() as value):
                return number(value)
            case ast.Name(id=name):
                return self._features.get(name, name)
            case ast.Attribute():
                return number(CONSTANTS[ast.unparse(node)])
            case ast.UnaryOp(op=ast.Not() | ast.USub() as op, operand=operand):
                return f"{'!' if isinstance(op, ast.Not) else '-'}{self._operand(operand)}"
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(left, op, right)
            case ast.BoolOp(op=op, values=values):
                return f" {_SIGNS[type(op)]} ".join(map(self._operand, values))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                operands = [self._operand(part) for part in (left, *comparators)]
                pairs = zip(operands, ops, operands[1:], strict=False)
                parts = [f"{a} {_SIGNS[type(op)]} {b}" for a, op, b in pairs]
                return parts[0] if len(parts) == 1 else " && ".join(f"({part})" for part in parts)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"{self._operand(test)} ? {self._operand(body)} : {self._operand(orelse)}"
            case ast.Call(func=func, args=args):
                return self._called(ast.unparse(func), [self.code(argument) for argument in args], node)
        raise self._unknown(node)

    def _operand(self, node: ast.expr) -> str:
        text = self.code(node)
        atom = isinstance(node, ast.Name | ast.Constant | ast.Attribute | ast.Subscript | ast.Call)
        return text if atom else f"({text})"

    def _binary(self, left: ast.expr, op: ast.operator, right: ast.expr) -> str:
        if isinstance(op, ast.FloorDiv | ast.Mod):
            function = "floor_div" if isinstance(op, ast.FloorDiv) else "floor_mod"
            return f"{function}({self.code(left)}, {self.code(right)})"
        if not isinstance(op, ast.Pow):
            return f"{self._operand(left)} {_SIGNS[type(op)]} {self._operand(right)}"
        base, exponent = self.code(left), self.code(right)
        if isinstance(right, ast.Constant) and isinstance(right.value, int):
            return f"square({base})" if right.value == 2 else f"power({base}, {right.value})"
        # As `language.rules.llvm` compiles them.
        match exponent:
            case "0.5":
                return f"square_root_power({base})"
            case "1.0":
                return base
            case "2.0":
                return f"square({base})"
            case "-1.0":
                return f"1.0 / {self._operand(left)}"
        return f"exp2({exponent})" if base == "2.0" else f"pow({base}, {exponent})"

    def _called(self, name: str, arguments: list[str], node: ast.expr) -> str:
        if name in ("min", "max"):
            return reduce(lambda a, b: f"py_{name}({a}, {b})", arguments)
        if name in _TESTS:
            return f"({name.removeprefix('math.')}({arguments[0]}) != 0)"
        if "." not in name and name != "abs":  # a helper
            return f"{name}({', '.join(arguments)})"
        if name not in _FUNCTIONS:
            raise self._unknown(node)
        return f"{_FUNCTIONS[name]}({', '.join(arguments)})"


@cache
def formula_in_c(function: Callable[..., Any]) -> str:
    """Return the C of a formula, or raise `RuleError`; tuples are arrays, and the result is written to `out`."""
    (source,) = ast.parse(dedent(inspect.getsource(function))).body
    assert isinstance(source, ast.FunctionDef)
    about = (inspect.getdoc(function) or "").split("\n")[0].replace("`", "")
    del source.body[0]  # the docstring
    formula = _Formula(source, typing.get_type_hints(function))
    return f"/* {about} */\n{formula.function(formula.head, formula.arguments)}"


class _Formula(Writer):
    def __init__(self, source: ast.FunctionDef, hints: dict[str, Any]) -> None:
        super().__init__(source)
        self._features = {}
        self.tuples: dict[str, list[str]] = {}
        self.scalar = hints.pop("return") is float
        self.arguments = list(hints)
        declared = []
        for name, hint in hints.items():
            parts = typing.get_args(hint)
            declared.append(f"const double* {name}" if parts else f"double {name}")
            self.tuples[name] = [f"{name}[{i}]" for i in range(len(parts))]
        declared += [] if self.scalar else ["double* out"]
        self.head = f"{'double' if self.scalar else 'void'} {source.name}({', '.join(declared)})"

    def code(self, node: ast.expr) -> str:
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(place))):
                return self.tuples[name][place]
        return super().code(node)

    def _several(self, node: ast.expr) -> list[str]:
        match node:
            case ast.Name(id=name) if self.tuples.get(name):
                return self.tuples[name]
            case ast.Starred(value=value):
                return self._several(value)
            case ast.Tuple(elts=parts):
                return [text for part in parts for text in self._several(part)]
        return [self.code(node)]

    def statement(self, node: ast.stmt, depth: int) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                for target, part in zip(targets, self._several(value), strict=True):
                    self._emit(f"{self.code(target)} = {part};", depth)
            case ast.Return(value=ast.expr() as value) if not self.scalar:
                # All is computed before anything is written: `out` may be what was read.
                self._emit(f"const double result[] = {{{', '.join(self._several(value))}}};", depth)
                self._emit("memcpy(out, result, sizeof(result));", depth)
                if node is not self.source.body[-1]:
                    self._emit("return;", depth)
            case _:
                super().statement(node, depth)
