"""One meaning for both ways of running a rule.

Python, numpy and numba agree on almost everything a rule may say, but not on all of it. Where they differ,
the normal form is rewritten into operations on which they do agree, before either of them sees it:

- a power with a negative or computed exponent is a power of floats;
- `int`, `round`, `math.floor` and their like go through `to_int`, which raises for NaN and infinities;
- `np.clip` is a minimum of a maximum, `np.where` picks a number for numbers and works by element for arrays;
- reductions such as ``np.mean([a, b])`` take an array;
- list comprehensions are loops in functions of their own;
- functions numba lacks under one name are called by another.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Final

from bife_core.rules.checking import literal_number
from bife_core.rules.comprehensions import unroll
from bife_core.rules.language import (
    ARRAY_METHODS,
    MATH_FUNCTIONS,
    MAX_POWER,
    NUMPY_BINARY,
    NUMPY_REDUCTIONS,
    NUMPY_UNARY,
    RESERVED_PREFIX,
)
from bife_core.rules.refusal import forbidden

HELPERS: Final = (
    "to_int",
    "choose",
    "any_true",
    "all_true",
    "largest",
    "smallest",
    "ordered",
    "middle",
    "inner",
)
"""Functions of `bife_core.rules.semantics` that lowered code may call, under the names below."""

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
    """Return the functions of a rule in normal form, rewritten so that both modes give the same scores.

    Raises
    ------
    Refusal
        If a rounding asks for a computed number of digits.
    """
    copies = tuple(copy.deepcopy(function) for function in functions)
    return tuple(ast.fix_missing_locations(_Lowering().visit(f)) for f in unroll(copies, RESERVED_PREFIX))


def callee_name(node: ast.Call) -> str | None:
    """Return ``"np.exp"``, ``"max"`` or a helper's name for a call in normal form, None for a method."""
    if isinstance(node.func, ast.Name):
        return node.func.id
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        module = node.func.value.id
        return f"{module}.{node.func.attr}" if module in ("np", "math") else None
    return None


class _Lowering(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return _power(node.left, node.right, node) if isinstance(node.op, ast.Pow) else node

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        self.generic_visit(node)
        return _of_one_type(node)

    def visit_List(self, node: ast.List) -> ast.expr:
        self.generic_visit(node)
        return _of_one_type(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = callee_name(node)
        if name is None:
            if isinstance(node.func, ast.Attribute) and node.func.attr in ARRAY_METHODS:
                return self.visit_Call(_call(f"np.{node.func.attr}", [node.func.value], node))
            return node
        rewrite = _REWRITES.get(name)
        if rewrite is not None:
            return rewrite(node)
        if name in _RENAMED:
            name = _RENAMED[name]
            node = _call(name, node.args, node)
        if name.startswith("np.") and name[3:] in NUMPY_REDUCTIONS | {"cumsum"}:
            node.args = [_as_array(argument) for argument in node.args]
        elif name in _OF_FLOATS:
            # Of a boolean, compiled code would take the function in half precision.
            node.args = [_as_float(x) if _may_be_boolean(x) else x for x in node.args]
        return node


def _call(name: str, arguments: list[ast.expr], where: ast.expr) -> ast.Call:
    module, _, attribute = name.rpartition(".")
    function: ast.expr = ast.Name(id=name, ctx=ast.Load())
    if module:
        function = ast.Attribute(value=ast.Name(id=module, ctx=ast.Load()), attr=attribute, ctx=ast.Load())
    return ast.copy_location(ast.Call(func=function, args=arguments, keywords=[]), where)


def _helper(name: str, arguments: list[ast.expr], where: ast.expr) -> ast.Call:
    assert name in HELPERS
    return _call(RESERVED_PREFIX + name, arguments, where)


def _binary(left: ast.expr, operator: ast.operator, right: ast.expr, where: ast.expr) -> ast.BinOp:
    return ast.copy_location(ast.BinOp(left=left, op=operator, right=right), where)


def _number(value: float, where: ast.expr) -> ast.Constant:
    return ast.copy_location(ast.Constant(value=value), where)


def _as_float(value: ast.expr) -> ast.expr:
    # Not a call of float: numba has none for booleans, and this works by element for arrays.
    return _binary(value, ast.Mult(), _number(1.0, value), value)


def _as_array(value: ast.expr) -> ast.expr:
    # Anything but a slice may be a list, of which numba takes no mean.
    return value if isinstance(value, ast.Subscript) else _call("np.asarray", [value], value)


def _of_one_type(node: ast.Tuple | ast.List) -> ast.expr:
    # Compiled code walks through (0.5, 1) only if both are floats.
    numbers = [literal_number(element) for element in node.elts]
    if any(isinstance(number, float) for number in numbers):
        for i, number in enumerate(numbers):
            if number is not None:
                node.elts[i] = _number(float(number), node.elts[i])
    return node


def _may_be_boolean(value: ast.expr) -> bool:
    # Arithmetic and features are numbers; of anything else the text does not tell.
    is_number = isinstance(value, ast.BinOp | ast.Subscript) or literal_number(value) is not None
    return not is_number


def _power(base: ast.expr, exponent: ast.expr, where: ast.expr) -> ast.expr:
    literal = literal_number(exponent)
    if isinstance(literal, int) and 0 <= literal <= MAX_POWER:
        return _binary(base, ast.Pow(), _number(literal, exponent), where)
    if literal is not None:
        return _binary(_as_float(base), ast.Pow(), _number(float(literal), exponent), where)
    return _binary(_as_float(base), ast.Pow(), _as_float(exponent), where)


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
    return _of_one(lambda x: _helper("to_int", [_call(rounding, [_as_float(x)], x)], x))


def _round(node: ast.Call) -> ast.expr:
    digits_given = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
    if not node.args or len(digits_given) > 1:
        raise forbidden("round takes a number and a number of digits", node)
    digits = literal_number(digits_given[0]) if digits_given else 0
    if not isinstance(digits, int) or abs(digits) > 15:
        raise forbidden("the number of digits to round to must be a literal integer from -15 to 15", node)
    value = node.args[0]
    if digits > 0:
        scaled = _binary(_as_float(value), ast.Mult(), _number(10.0**digits, node), node)
        return _binary(_call("np.rint", [scaled], node), ast.Div(), _number(10.0**digits, node), node)
    if digits < 0:
        scaled = _binary(_as_float(value), ast.Div(), _number(10.0**-digits, node), node)
        return _binary(_call("np.rint", [scaled], node), ast.Mult(), _number(10.0**-digits, node), node)
    rounded = _call("np.rint", [_as_float(value)], node)
    to_integer = callee_name(node) == "round" and not digits_given
    return _helper("to_int", [rounded], node) if to_integer else rounded


def _clip(node: ast.Call) -> ast.expr:
    bounds = {keyword.arg: keyword.value for keyword in node.keywords}
    arguments = list(node.args)
    for names in (("a_min", "min"), ("a_max", "max")):
        arguments += [bounds.pop(name) for name in names if name in bounds]
    if len(arguments) != 3 or bounds:
        raise forbidden("np.clip takes a number, a lower and an upper bound", node)
    return _call("np.minimum", [_call("np.maximum", arguments[:2], node), arguments[2]], node)


def _extreme(helper: str) -> Callable[[ast.Call], ast.expr]:
    # Of a sequence: compiled code of Python 3.13 takes the largest of nothing to be 0.
    def rewrite(node: ast.Call) -> ast.expr:
        return _helper(helper, node.args, node) if len(node.args) == 1 else node

    return rewrite


def _where(node: ast.Call) -> ast.expr:
    if len(node.args) != 3:
        raise forbidden("np.where takes a condition and two values", node)
    return _helper("choose", node.args, node)


def _logarithm(node: ast.Call) -> ast.expr:
    if len(node.args) == 2:
        logs = [_call("math.log", [argument], node) for argument in node.args]
        return _binary(logs[0], ast.Div(), logs[1], node)
    return node


def _array(node: ast.Call) -> ast.expr:
    if len(node.args) != 1:
        raise forbidden(f"{callee_name(node)} takes one argument", node)
    # Nothing can change an array in place, so a copy is as good as the original.
    bare = _call("np.asarray", node.args, node)
    return _as_float(bare) if node.keywords else bare


def _sorted(node: ast.Call) -> ast.expr:
    if len(node.args) != 1:
        raise forbidden("sorted takes one sequence", node)
    # An array in place of a list, NaN last, so that both modes agree.
    ordered: ast.expr = _helper("ordered", node.args, node)
    for keyword in node.keywords:
        if not isinstance(keyword.value, ast.Constant):
            raise forbidden("the argument 'reverse' must be True or False", node)
        if keyword.value.value:
            backwards = ast.Slice(step=_number(-1, node))
            ordered = ast.copy_location(ast.Subscript(value=ordered, slice=backwards, ctx=ast.Load()), node)
    return ordered


_REWRITES: Final[dict[str, Callable[[ast.Call], ast.expr]]] = {
    "pow": _of_two(_power),
    "math.pow": _of_two(_power),
    "np.power": _of_two(_power),
    "np.float_power": _of_two(_power),
    "int": _whole("np.trunc"),
    "math.trunc": _whole("np.trunc"),
    "math.floor": _whole("np.floor"),
    "math.ceil": _whole("np.ceil"),
    "float": _of_one(_as_float),
    "np.float64": _of_one(_as_float),
    "round": _round,
    "np.round": _round,
    "np.floor_divide": _of_two(lambda a, b, where: _binary(a, ast.FloorDiv(), b, where)),
    "np.mod": _of_two(lambda a, b, where: _binary(a, ast.Mod(), b, where)),
    "np.remainder": _of_two(lambda a, b, where: _binary(a, ast.Mod(), b, where)),
    "np.median": _of_one(lambda x: _helper("middle", [x], x)),
    "np.sort": _of_one(lambda x: _helper("ordered", [x], x)),
    "np.around": _round,
    "np.clip": _clip,
    "np.where": _where,
    "np.dot": _of_two(lambda a, b, where: _helper("inner", [a, b], where)),
    "min": _extreme("smallest"),
    "max": _extreme("largest"),
    "math.log": _logarithm,
    "np.array": _array,
    "np.asarray": _array,
    "sorted": _sorted,
    "any": _of_one(lambda x: _helper("any_true", [x], x)),
    "all": _of_one(lambda x: _helper("all_true", [x], x)),
}
