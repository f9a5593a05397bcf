"""What a rule says, in operations that numba compiles to what Python and numpy mean by it.

Python, numpy and numba agree on almost everything a rule may say, but not on all of it. Where they differ, the normal
form is rewritten:

- a power with a negative or computed exponent is a power of floats;
- `int`, `round`, `math.floor` and their like go through `to_int`, which raises for NaN and infinities;
- `np.clip` is a minimum of a maximum, `np.where` picks a number;
- a method of a sequence is the function of its name;
- functions numba lacks under one name are called by another.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

from bife_core.rules.checking import literal_number
from bife_core.rules.language import (
    ARRAY_METHODS,
    MATH_FUNCTIONS,
    MAX_POWER,
    NUMPY_BINARY,
    NUMPY_UNARY,
    RESERVED_PREFIX,
)
from bife_core.rules.nodes import as_float, binary, call, callee_name, literal
from bife_core.rules.rejections import forbidden

_RENAMED: Final = {
    "math.fmod": "np.fmod",
    "math.exp2": "np.exp2",
    "math.cbrt": "np.cbrt",
    "np.absolute": "np.abs",
    "np.true_divide": "np.divide",
    "np.amin": "np.min",
    "np.amax": "np.max",
}

_OF_FLOATS: Final = (
    frozenset(f"np.{name}" for name in NUMPY_UNARY | NUMPY_BINARY)
    - frozenset(f"np.{name}" for name in ("abs", "negative", "sign", "square", "reciprocal", "float64"))
    - frozenset(f"np.{name}" for name in ("add", "subtract", "multiply", "maximum", "minimum"))
) | frozenset(f"math.{name}" for name in MATH_FUNCTIONS)


def lower(functions: tuple[ast.FunctionDef, ...]) -> tuple[ast.FunctionDef, ...]:
    """Rewrite the functions of a rule in normal form, in place.

    Raises
    ------
    RejectionError
        If a rounding asks for a computed number of digits, or a function has too many or too few arguments.
    """
    return tuple(ast.fix_missing_locations(_Lowering().visit(function)) for function in functions)


class _Lowering(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return _power(node.left, node.right, node) if isinstance(node.op, ast.Pow) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = callee_name(node)
        if name is None:
            if isinstance(node.func, ast.Attribute) and node.func.attr in ARRAY_METHODS:
                return self.visit_Call(call(f"np.{node.func.attr}", [node.func.value], node))
            return node
        rewrite = _REWRITES.get(name)
        if rewrite is not None:
            return rewrite(node)
        if name in _RENAMED:
            name = _RENAMED[name]
            node = call(name, node.args, node)
        if name == "np.fmod":
            # Of whole numbers, compiled code would take a remainder of another sign.
            node.args = [as_float(x) for x in node.args]
        elif name in _OF_FLOATS:
            # Of a boolean, compiled code would take the function in half precision.
            node.args = [as_float(x) if _may_be_boolean(x) else x for x in node.args]
        return node


def _primitive(name: str, arguments: list[ast.expr], where: ast.expr) -> ast.Call:
    return call(RESERVED_PREFIX + name, arguments, where)


def _may_be_boolean(value: ast.expr) -> bool:
    # Arithmetic and features are numbers; of anything else the text does not tell.
    is_number = isinstance(value, ast.BinOp | ast.Subscript) or literal_number(value) is not None
    return not is_number


def _power(base: ast.expr, exponent: ast.expr, where: ast.expr) -> ast.expr:
    given = literal_number(exponent)
    if isinstance(given, int) and 0 <= given <= MAX_POWER:
        return binary(base, ast.Pow(), literal(given, exponent), where)
    if given is not None:
        return binary(as_float(base), ast.Pow(), literal(float(given), exponent), where)
    return binary(as_float(base), ast.Pow(), as_float(exponent), where)


def _of_two(operator: Callable[[ast.expr, ast.expr, ast.expr], ast.expr]) -> Callable[[ast.Call], ast.expr]:
    def rewrite(node: ast.Call) -> ast.expr:
        if len(node.args) != 2:
            raise forbidden(f"{callee_name(node)} takes two arguments", node)
        return operator(node.args[0], node.args[1], node)

    return rewrite


def _of_one(build: Callable[[ast.expr], ast.expr]) -> Callable[[ast.Call], ast.expr]:
    def rewrite(node: ast.Call) -> ast.expr:
        if len(node.args) != 1 or node.keywords:
            raise forbidden(f"{callee_name(node)} takes one argument", node)
        return ast.copy_location(build(node.args[0]), node)

    return rewrite


def _whole(rounding: str) -> Callable[[ast.Call], ast.expr]:
    return _of_one(lambda x: _primitive("to_int", [call(rounding, [as_float(x)], x)], x))


def _round(node: ast.Call) -> ast.expr:
    digits_given = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
    if not node.args or len(digits_given) > 1:
        raise forbidden("round takes a number and a number of digits", node)
    digits = literal_number(digits_given[0]) if digits_given else 0
    if not isinstance(digits, int) or abs(digits) > 15:
        raise forbidden("the number of digits to round to must be a literal integer from -15 to 15", node)
    value = node.args[0]
    if digits > 0:
        scaled = binary(as_float(value), ast.Mult(), literal(10.0**digits, node), node)
        return binary(call("np.rint", [scaled], node), ast.Div(), literal(10.0**digits, node), node)
    if digits < 0:
        scaled = binary(as_float(value), ast.Div(), literal(10.0**-digits, node), node)
        return binary(call("np.rint", [scaled], node), ast.Mult(), literal(10.0**-digits, node), node)
    rounded = call("np.rint", [as_float(value)], node)
    to_integer = callee_name(node) == "round" and not digits_given
    return _primitive("to_int", [rounded], node) if to_integer else rounded


def _clip(node: ast.Call) -> ast.expr:
    bounds = {keyword.arg: keyword.value for keyword in node.keywords}
    arguments = list(node.args)
    for names in (("a_min", "min"), ("a_max", "max")):
        arguments += [bounds.pop(name) for name in names if name in bounds]
    if len(arguments) != 3 or bounds:
        raise forbidden("np.clip takes a number, a lower and an upper bound", node)
    return call("np.minimum", [call("np.maximum", arguments[:2], node), arguments[2]], node)


def _where(node: ast.Call) -> ast.expr:
    if len(node.args) != 3:
        raise forbidden("np.where takes a condition and two values", node)
    return _primitive("choose", node.args, node)


def _logarithm(node: ast.Call) -> ast.expr:
    if len(node.args) == 2:
        logs = [call("math.log", [argument], node) for argument in node.args]
        return binary(logs[0], ast.Div(), logs[1], node)
    return node


_REWRITES: Final[dict[str, Callable[[ast.Call], ast.expr]]] = {
    "pow": _of_two(_power),
    "math.pow": _of_two(_power),
    "np.power": _of_two(_power),
    "np.float_power": _of_two(_power),
    "int": _whole("np.trunc"),
    "math.trunc": _whole("np.trunc"),
    "math.floor": _whole("np.floor"),
    "math.ceil": _whole("np.ceil"),
    "float": _of_one(as_float),
    "np.float64": _of_one(as_float),
    "round": _round,
    "np.round": _round,
    "np.floor_divide": _of_two(lambda a, b, where: binary(a, ast.FloorDiv(), b, where)),
    "np.mod": _of_two(lambda a, b, where: binary(a, ast.Mod(), b, where)),
    "np.remainder": _of_two(lambda a, b, where: binary(a, ast.Mod(), b, where)),
    "np.around": _round,
    "np.clip": _clip,
    "np.where": _where,
    "math.log": _logarithm,
}
