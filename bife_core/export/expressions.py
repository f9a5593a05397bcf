"""Expressions of a scalar program, or of a formula of a feature, in C: the same operations in the same order."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Final

import numpy as np

from bife_core.errors import RuleError
from bife_core.export.clang import (
    AND,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    C_TYPES,
    CHOICE,
    EQUAL,
    LIBRARY,
    OR,
    PLUS,
    RELATION,
    TIMES,
    UNARY,
    Code,
    Kind,
    call,
    cast,
    joined,
    number,
    truth,
    words,
)
from bife_core.features import FEATURES, N_FEATURES
from bife_core.rules.expressions import FEATURES as VECTOR
from bife_core.rules.language import RESERVED_PREFIX
from bife_core.rules.nodes import callee_name

_ARC: Final = {f"np.arc{name}": f"a{name}" for name in ("cos", "sin", "tan", "cosh", "sinh", "tanh")}
_OF_ONE: Final = {
    f"{module}.{name}": name
    for module in ("np", "math")
    for name in words("""
    sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh
    atanh floor ceil trunc rint fabs erf erfc
""")
} | _ARC
_OF_TWO: Final = {
    "np.fmod": "fmod",
    "np.hypot": "hypot",
    "math.hypot": "hypot",
    "np.copysign": "copysign",
    "math.copysign": "copysign",
    "np.arctan2": "atan2",
    "math.atan2": "atan2",
    "np.fmax": "np_fmax",
    "np.fmin": "np_fmin",
    "np.logaddexp": "logaddexp",
    "np.logaddexp2": "logaddexp2",
}
_SCALED: Final = dict.fromkeys(("np.deg2rad", "np.radians", "math.radians"), math.pi / 180) | dict.fromkeys(
    ("np.rad2deg", "np.degrees", "math.degrees"), 180 / math.pi
)
_TESTS: Final = {
    f"{module}.{name}": name for module in ("np", "math") for name in ("isnan", "isinf", "isfinite")
}
_OPERATORS: Final[dict[str, ast.operator]] = {
    "np.add": ast.Add(),
    "np.subtract": ast.Sub(),
    "np.multiply": ast.Mult(),
    "np.divide": ast.Div(),
}
_RELATIONS: Final[dict[str, ast.cmpop]] = {
    "np.greater": ast.Gt(),
    "np.greater_equal": ast.GtE(),
    "np.less": ast.Lt(),
    "np.less_equal": ast.LtE(),
    "np.equal": ast.Eq(),
    "np.not_equal": ast.NotEq(),
}
_SIGNS: Final[dict[type[ast.cmpop], tuple[str, int]]] = {
    ast.Gt: (">", RELATION),
    ast.GtE: (">=", RELATION),
    ast.Lt: ("<", RELATION),
    ast.LtE: ("<=", RELATION),
    ast.Eq: ("==", EQUAL),
    ast.NotEq: ("!=", EQUAL),
}
_ARITHMETIC: Final[dict[type[ast.operator], tuple[str, int]]] = {
    ast.Add: ("+", PLUS),
    ast.Sub: ("-", PLUS),
    ast.Mult: ("*", TIMES),
}
_WHOLE: Final[dict[type[ast.operator], str]] = {
    ast.Add: "whole_plus",
    ast.Sub: "whole_minus",
    ast.Mult: "whole_times",
}
_BITS: Final[dict[type[ast.operator], tuple[str, int]]] = {
    ast.BitAnd: ("&", BIT_AND),
    ast.BitOr: ("|", BIT_OR),
    ast.BitXor: ("^", BIT_XOR),
}


def feature_constant(index: int) -> str:
    """Return the C name of a feature's place."""
    return FEATURES[index].name.upper()


class Expressions:
    """Writes the expressions of one function.

    Attributes
    ----------
    kinds : dict
        Kind of each variable, by its Python name, as far as assignments have shown.
    spelled : dict
        C name of each variable.
    uses : set
        Functions of `bife_core.export.clang.LIBRARY` that are called.
    """

    def __init__(self, kinds: dict[str, Kind], spelled: dict[str, str]) -> None:
        self.kinds = kinds
        self.spelled = spelled
        self.uses: set[str] = set()

    def helper(self, name: str, arguments: list[ast.expr]) -> Code | None:
        """Return a call of another function of the program; None if there is none of that name."""
        return None

    def own(self, function: str, *arguments: Code, kind: Kind = "real") -> Code:
        """Return a call of a function of `LIBRARY`."""
        self.uses.add(function)
        return call(function, *arguments, kind=kind)

    def real(self, node: ast.expr) -> Code:
        """Return an expression as a float."""
        return cast(self.code(node), "real")

    def code(self, node: ast.expr) -> Code:
        """Return an expression.

        Raises
        ------
        RuleError
            If it has no C here.
        """
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return number(value)
            case ast.Name(id=name):
                return Code(self.spelled[name], self.kinds[name])
            case ast.Attribute(attr=attr):
                return number(float(getattr(math, attr, getattr(np, attr, None)) or 0.0))
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(left, op, right)
            case ast.BoolOp():
                return self._boolean(node)
            case ast.Compare():
                return self._compared(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.choice(truth(self.code(test)), self.code(body), self.code(orelse))
            case ast.Subscript():
                return self._element(node)
            case ast.Call():
                return self._called(node)
        raise RuleError(f"The rule cannot be exported: line {node.lineno} has no counterpart in C.")

    def choice(self, test: Code, yes: Code, no: Code) -> Code:
        """Return one of two values; the other is not computed."""
        kind = joined((yes.kind, no.kind))
        one, other = cast(yes, kind), cast(no, kind)
        return Code(f"{test.within(OR)} ? {one.within(OR)} : {other.within(CHOICE)}", kind, CHOICE)

    def _unary(self, node: ast.UnaryOp) -> Code:
        operand = self.code(node.operand)
        if isinstance(node.op, ast.Not):
            return Code(f"!{truth(operand).within(UNARY)}", "flag", UNARY)
        operand = cast(operand, joined((operand.kind, "whole")))
        if isinstance(node.op, ast.UAdd):
            return operand
        if operand.kind == "whole" and not isinstance(node.operand, ast.Constant):
            return self.own("whole_minus", Code("0", "whole"), operand, kind="whole")
        text = operand.within(UNARY)
        return Code(f"-({text})" if text.startswith("-") else f"-{text}", operand.kind, UNARY)

    def binary(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Code:
        """Return an operation on two numbers."""
        if isinstance(op, ast.Pow):
            return self._power(left, right)
        if isinstance(op, ast.Mult) and isinstance(right, ast.Constant) and repr(right.value) == "1.0":
            return self.real(left)  # how the normal form says "as a float"
        one, other = self.code(left), self.code(right)
        if type(op) in _BITS:
            sign, binds = _BITS[type(op)]
            kind = joined((one.kind, other.kind))
            # One step tighter than need be: compilers warn of a mixture of these without parentheses.
            return Code(f"{one.within(TIMES)} {sign} {other.within(TIMES)}", kind, binds)
        kind = "real" if isinstance(op, ast.Div) else joined((one.kind, other.kind, "whole"))
        one, other = cast(one, kind), cast(other, kind)
        if isinstance(op, ast.FloorDiv):
            return self.own("floor_div" if kind == "real" else "whole_div", one, other, kind=kind)
        if isinstance(op, ast.Mod):
            return self.own("floor_mod" if kind == "real" else "whole_mod", one, other, kind=kind)
        if kind == "whole":
            return self.own(_WHOLE[type(op)], one, other, kind="whole")
        sign, binds = ("/", TIMES) if isinstance(op, ast.Div) else _ARITHMETIC[type(op)]
        return Code(f"{one.within(binds)} {sign} {other.within(binds + 1)}", kind, binds)

    def _power(self, base: ast.expr, exponent: ast.expr) -> Code:
        value = self.code(base)
        if isinstance(exponent, ast.Constant) and isinstance(exponent.value, int):
            kind = joined((value.kind, "whole"))
            times = Code(str(exponent.value), "whole")
            if exponent.value == 2 and kind == "real":
                return self.own("square", value)
            return self.own("power" if kind == "real" else "whole_power", cast(value, kind), times, kind=kind)
        raised = self.real(exponent)
        value = cast(value, "real")
        # As the compiler of rules has it.
        match raised.text:
            case "0.5":
                return self.own("square_root_power", value)
            case "1.0":
                return value
            case "2.0":
                return self.own("square", value)
            case "-1.0":
                return Code(f"1.0 / {value.within(UNARY)}", "real", TIMES)
        return call("exp2", raised) if value.text == "2.0" else call("pow", value, raised)

    def _boolean(self, node: ast.BoolOp) -> Code:
        every = isinstance(node.op, ast.And)
        parts = [self.code(part) for part in node.values]
        if all(part.kind == "flag" for part in parts):
            sign, binds = ("&&", AND) if every else ("||", OR)
            return Code(f" {sign} ".join(part.within(EQUAL) for part in parts), "flag", binds)
        result = parts.pop()
        while parts:
            part = parts.pop()
            result = (
                self.choice(truth(part), result, part) if every else self.choice(truth(part), part, result)
            )
        return result

    def compare(self, one: Code, op: ast.cmpop, other: Code) -> Code:
        """Return a comparison."""
        kind = joined((one.kind, other.kind))
        sign, binds = _SIGNS[type(op)]
        return Code(f"{cast(one, kind).within(PLUS)} {sign} {cast(other, kind).within(PLUS)}", "flag", binds)

    def _compared(self, node: ast.Compare) -> Code:
        operands = [self.code(part) for part in (node.left, *node.comparators)]
        found = [
            self.compare(one, op, other)
            for one, op, other in zip(operands, node.ops, operands[1:], strict=False)
        ]
        if len(found) == 1:
            return found[0]
        return Code(" && ".join(part.within(EQUAL) for part in found), "flag", AND)

    def _element(self, node: ast.Subscript) -> Code:
        match node.value:
            case ast.Name(id=name) if name == VECTOR:
                return self._feature(range(N_FEATURES), node.slice)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice() as part) if name == VECTOR:
                ends = (
                    None if end is None else ast.literal_eval(end)
                    for end in (part.lower, part.upper, part.step)
                )
                return self._feature(range(N_FEATURES)[slice(*ends)], node.slice)
            case ast.Tuple(elts=parts):
                return self._looked_up([self.code(part) for part in parts], node.slice)
        raise RuleError(
            f"The rule cannot be exported: the element in line {node.lineno} has no counterpart in C."
        )

    def _feature(self, places: range, index: ast.expr) -> Code:
        if isinstance(index, ast.Constant) and isinstance(index.value, int):
            return Code(f"f[{feature_constant(places[index.value])}]", "real")
        offset = self._place(index, len(places))
        if places.step != 1:
            offset = f"{places.step} * {offset}"
        return Code(f"f[{offset}]" if places.start == 0 else f"f[{places.start} + {offset}]", "real")

    def _place(self, index: ast.expr, length: int) -> str:
        self.uses.add("place")
        return f"place({cast(self.code(index), 'whole').text}, {length}, failed)"

    def _looked_up(self, entries: list[Code], index: ast.expr) -> Code:
        kind = joined(entry.kind for entry in entries)
        return Code(f"{_array(entries, kind)}[{self._place(index, len(entries))}]", kind)

    def _called(self, node: ast.Call) -> Code:
        name = callee_name(node) or ""
        arguments = node.args
        found = self.helper(name, arguments)
        if found is not None:
            return found
        if name in _OF_ONE:
            return call(_OF_ONE[name], self.real(arguments[0]))
        if name in _OF_TWO:
            function = self.own if _OF_TWO[name] in LIBRARY else call
            return function(_OF_TWO[name], *map(self.real, arguments))
        if name in _TESTS:
            return Code(f"{_TESTS[name]}({self.real(arguments[0]).text}) != 0", "flag", EQUAL)
        if name in _SCALED:
            return Code(f"{self.real(arguments[0]).within(TIMES)} * {_SCALED[name]!r}", "real", TIMES)
        if name in _OPERATORS:
            return self.binary(arguments[0], _OPERATORS[name], arguments[1])
        if name in _RELATIONS:
            return self.compare(self.code(arguments[0]), _RELATIONS[name], self.code(arguments[1]))
        rewrite = _SPECIAL.get(name.removeprefix(RESERVED_PREFIX))
        if rewrite is None:
            raise RuleError(f"The rule cannot be exported: {name} has no counterpart in C.")
        return rewrite(self, node)


def _array(entries: list[Code], kind: Kind = "real") -> str:
    return f"((const {C_TYPES[kind]}[]){{{', '.join(cast(entry, kind).text for entry in entries)}}})"


def _extreme(real: str, whole: str) -> Callable[[Expressions, ast.Call], Code]:
    def rewrite(to: Expressions, node: ast.Call) -> Code:
        first, *rest = map(to.code, node.args)
        for part in rest:
            kind = joined((first.kind, part.kind))
            if kind == "real":
                first = to.own(real, cast(first, kind), cast(part, kind))
            else:
                first = to.own(whole, cast(first, "whole"), cast(part, "whole"), kind="whole")
        return first

    return rewrite


def _of_sequence(function: str, kind: Kind = "real") -> Callable[[Expressions, ast.Call], Code]:
    def rewrite(to: Expressions, node: ast.Call) -> Code:
        sequence, *rest = node.args
        assert isinstance(sequence, ast.Tuple)
        entries = [to.code(entry) for entry in sequence.elts]
        further = [Code(str(ast.literal_eval(part)), "whole") for part in rest]
        length = Code(str(len(entries)), "whole")
        return to.own(function, Code(_array(entries), "real"), length, *further, kind=kind)

    return rewrite


def _absolute(to: Expressions, node: ast.Call) -> Code:
    value = to.code(node.args[0])
    if value.kind == "real":
        return call("fabs", value)
    return value if value.kind == "flag" else to.own("whole_abs", value, kind="whole")


def _sign(to: Expressions, node: ast.Call) -> Code:
    value = to.code(node.args[0])
    if value.kind == "real":
        return to.own("sign", value)
    return to.own("sign_whole", cast(value, "whole"), kind="whole")


def _square(to: Expressions, node: ast.Call) -> Code:
    return to.binary(node.args[0], ast.Pow(), ast.Constant(2))


def _reciprocal(to: Expressions, node: ast.Call) -> Code:
    value = to.code(node.args[0])
    if value.kind == "flag":
        return value
    found = Code(f"1.0 / {cast(value, 'real').within(UNARY)}", "real", TIMES)
    return found if value.kind == "real" else cast(found, "whole")


def _negative(to: Expressions, node: ast.Call) -> Code:
    return to.code(ast.copy_location(ast.UnaryOp(ast.USub(), node.args[0]), node))


def _nan_to_num(to: Expressions, node: ast.Call) -> Code:
    given = {word.arg: to.real(word.value) for word in node.keywords}
    limits = {"nan": 0.0, "posinf": float(np.finfo(float).max), "neginf": float(np.finfo(float).min)}
    for name, position in zip(limits, node.args[2:], strict=False):
        given[name] = to.real(position)
    value = to.code(node.args[0])
    if value.kind != "real":
        return value
    return to.own("nan_to_num", value, *(given.get(name, number(limit)) for name, limit in limits.items()))


def _logical(to: Expressions, node: ast.Call) -> Code:
    tests = [truth(to.code(part)) for part in node.args]
    match callee_name(node):
        case "np.logical_not":
            return Code(f"!{tests[0].within(UNARY)}", "flag", UNARY)
        case "np.logical_xor":
            return Code(f"{tests[0].within(PLUS)} != {tests[1].within(PLUS)}", "flag", EQUAL)
        case "np.logical_and":
            return Code(f"{tests[0].within(EQUAL)} && {tests[1].within(EQUAL)}", "flag", AND)
    return Code(f"{tests[0].within(EQUAL)} || {tests[1].within(EQUAL)}", "flag", OR)


def _to_whole(to: Expressions, node: ast.Call) -> Code:
    to.uses.add("to_whole")
    return Code(f"to_whole({to.real(node.args[0]).text}, failed)", "whole")


def _choose(to: Expressions, node: ast.Call) -> Code:
    test, yes, no = map(to.code, node.args)
    return to.choice(truth(test), yes, no)


_SPECIAL: Final[dict[str, Callable[[Expressions, ast.Call], Code]]] = {
    "min": _extreme("py_min", "py_min_whole"),
    "max": _extreme("py_max", "py_max_whole"),
    "np.minimum": _extreme("np_minimum", "py_min_whole"),
    "np.maximum": _extreme("np_maximum", "py_max_whole"),
    "abs": _absolute,
    "np.abs": _absolute,
    "np.sign": _sign,
    "np.square": _square,
    "np.reciprocal": _reciprocal,
    "np.negative": _negative,
    "np.nan_to_num": _nan_to_num,
    "np.logical_and": _logical,
    "np.logical_or": _logical,
    "np.logical_xor": _logical,
    "np.logical_not": _logical,
    "bool": lambda to, node: truth(to.code(node.args[0])),
    "float": lambda to, node: to.real(node.args[0]),
    "np.float64": lambda to, node: to.real(node.args[0]),
    "to_int": _to_whole,
    "choose": _choose,
    "ranked": _of_sequence("ranked"),
    "median": _of_sequence("median"),
    "variance": _of_sequence("variance"),
    "argmax": _of_sequence("first_largest", "whole"),
}
"""Functions by their name in a scalar program, those of `bife_core.rules.primitives` without the prefix."""
