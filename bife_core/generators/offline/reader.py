"""From a rule's Python back to a syntax tree, for every rule the grammar wrote and for others as simple.

Nothing is hidden in the source: the tree is read off its syntax. Rules with real conditions, loops,
subtractions or other functions are no trees of this grammar; of those only the set of features is taken.
"""

from __future__ import annotations

import ast
from typing import Final

from bife_core.features import N_FEATURES
from bife_core.generators.offline.expression import (
    Leaf,
    Node,
    Operation,
    centred,
    product,
    weighted_sum,
)
from bife_core.generators.offline.syntax import assignments, number, parse_rule

_LARGEST_FLOOR: Final = 1.0
_LARGEST_GUARD: Final = 1e-3
_SMALLEST_CAP: Final = 10.0

_Scaled = tuple[float, Node]
"""A positive factor and the node it multiplies."""


class _Foreign(Exception):  # noqa: N818 - not an error: the source is simply outside the grammar
    """The source is no tree of this grammar."""


def read(source: str) -> Node | None:
    """Return the tree of a rule, or None when the rule is not of this grammar.

    For a rule that `write` made the tree is exactly the one written. Other rules are read when they compute
    what a tree does, up to floors and caps, a constant factor of the score, and special cases for zeros.
    """
    rule = parse_rule(source)
    if rule is None or len(rule.function.args.args) != 1:
        return None
    reader = _Reader(rule.helpers, {rule.function.args.args[0].arg}, {})
    try:
        result = reader.run(rule.function.body)
    except (_Foreign, ValueError, ArithmeticError, RecursionError):
        return None
    return None if result is None else result[1]


def _call(node: ast.expr) -> tuple[str, list[ast.expr]] | None:
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    if isinstance(node.func, ast.Attribute):
        return node.func.attr, node.args
    return (node.func.id, node.args) if isinstance(node.func, ast.Name) else None


def _within(value: float | None, least: float, most: float) -> bool:
    return value is not None and least <= value <= most


class _Reader:
    """Follows the statements of a function; its variables stand for the nodes they were assigned."""

    def __init__(
        self, helpers: dict[str, ast.FunctionDef], arguments: set[str], nodes: dict[str, _Scaled]
    ) -> None:
        self._helpers = helpers
        self._arguments = arguments
        self._nodes = nodes

    def run(self, body: list[ast.stmt]) -> _Scaled | None:
        """Return what the statements return, or None if they end without.

        Raises
        ------
        _Foreign
            At a statement that no tree has a counterpart to.
        """
        for statement in body:
            if isinstance(statement, ast.Return) and statement.value is not None:
                return self._scaled(statement.value)
            if isinstance(statement, ast.If):
                result = self.run(statement.body if self._holds(statement.test) else statement.orelse)
                if result is not None:
                    return result
            else:
                self._take(statement)
        return None

    def _take(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Import) or (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        ):
            return
        pairs = assignments(statement)
        if pairs is None:
            raise _Foreign
        for name, value in pairs:
            if isinstance(value, ast.Name) and value.id in self._arguments:
                self._arguments = self._arguments | {name}
            elif number(value) is None:
                self._nodes = self._nodes | {name: self._scaled(value)}

    def _holds(self, test: ast.expr) -> bool:
        """Decide a condition that only asks whether something is positive: in a tree everything is."""
        match test:
            case ast.BoolOp(op=ast.And(), values=values):
                return all(self._holds(value) for value in values)
            case ast.BoolOp(op=ast.Or(), values=values):
                return any(self._holds(value) for value in values)
            case ast.Compare(
                left=left, ops=[ast.Gt() | ast.GtE() | ast.Lt() | ast.LtE() as op], comparators=[limit]
            ):
                bound = number(limit)
                if bound is not None and 0.0 <= bound <= _LARGEST_GUARD:
                    self._scaled(left)
                    return isinstance(op, ast.Gt | ast.GtE)
        raise _Foreign

    def _plain(self, expression: ast.expr) -> Node:
        factor, node = self._scaled(expression)
        if factor != 1.0:
            raise _Foreign
        return node

    def _scaled(self, expression: ast.expr) -> _Scaled:
        if isinstance(expression, ast.Name) and expression.id in self._nodes:
            return self._nodes[expression.id]
        leaf = self._leaf(expression)
        if leaf is not None:
            return 1.0, leaf
        if isinstance(expression, ast.IfExp):
            return self._scaled(expression.body if self._holds(expression.test) else expression.orelse)
        if isinstance(expression, ast.Call):
            return self._function(expression)
        if isinstance(expression, ast.BinOp):
            return self._operation(expression)
        raise _Foreign

    def _leaf(self, expression: ast.expr) -> Leaf | None:
        """Recognise a feature, bare or within abs(.), 1 + . or max(., floor)."""
        match expression:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(index))):
                return Leaf(index) if name in self._arguments and 0 <= index < N_FEATURES else None
            case ast.BinOp(left=ast.Constant(value=1.0), op=ast.Add(), right=ast.Subscript() as read):
                leaf = self._leaf(read)
                return leaf if leaf is not None and centred(leaf.feature) else None
        match _call(expression):
            case ("abs" | "fabs", [inner]):
                return self._leaf(inner)
            case ("max", [inner, floor]) if _within(number(floor), 0.0, _LARGEST_FLOOR):
                return self._leaf(inner)
        return None

    def _function(self, expression: ast.Call) -> _Scaled:
        match _call(expression):
            case ("max", [inner, floor]) if _within(number(floor), 0.0, _LARGEST_FLOOR):
                return self._scaled(inner)
            case ("min", [inner, cap]) if _within(number(cap), _SMALLEST_CAP, float("inf")):
                return self._scaled(inner)
            case ("min" | "max" as kind, [left, right]):
                return 1.0, Operation(kind, (self._plain(left), self._plain(right)))
            case ("sqrt", [ast.BinOp(left=a, op=ast.Mult(), right=b)]):
                (first, one), (second, other) = self._scaled(a), self._scaled(b)
                return (first * second) ** 0.5, Operation("geometric", (one, other))
            case ("sqrt", [inner]):
                factor, node = self._scaled(inner)
                return factor**0.5, product((node, 0.5))
            case ("log1p" | "tanh" as kind, [inner]):
                factor, node = self._scaled(inner)
                return 1.0, Operation(kind, (node,), (factor,))
            case (name, values) if name in self._helpers:
                return self._helper(self._helpers[name], values)
        raise _Foreign

    def _helper(self, function: ast.FunctionDef, values: list[ast.expr]) -> _Scaled:
        names = [argument.arg for argument in function.args.args]
        if len(names) != len(values):
            raise _Foreign
        arguments: set[str] = set()
        nodes: dict[str, _Scaled] = {}
        for name, value in zip(names, values, strict=True):
            if isinstance(value, ast.Name) and value.id in self._arguments:
                arguments.add(name)
            else:
                nodes[name] = self._scaled(value)
        result = _Reader(self._helpers, arguments, nodes).run(function.body)
        if result is None:
            raise _Foreign
        return result

    def _operation(self, expression: ast.BinOp) -> _Scaled:
        match expression:
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                exponent = number(right)
                if exponent is None:
                    raise _Foreign
                factor, node = self._scaled(left)
                return factor**exponent, product((node, exponent))
            case ast.BinOp(op=ast.Mult()):
                return self._multiplied(expression)
            case ast.BinOp(op=ast.Div()):
                return self._divided(expression)
            case ast.BinOp(op=ast.Add()):
                return 1.0, self._added(expression)
        raise _Foreign

    def _multiplied(self, expression: ast.BinOp) -> _Scaled:
        for literal, other in ((expression.left, expression.right), (expression.right, expression.left)):
            factor = number(literal)
            if factor is not None:
                if factor <= 0.0:
                    raise _Foreign
                scale, node = self._scaled(other)
                return factor * scale, node
        (first, left), (second, right) = self._scaled(expression.left), self._scaled(expression.right)
        return first * second, product((left, 1.0), (right, 1.0))

    def _divided(self, expression: ast.BinOp) -> _Scaled:
        divisor = number(expression.right)
        if divisor is not None and divisor > 0.0:
            scale, node = self._scaled(expression.left)
            return scale / divisor, node
        match expression:
            case ast.BinOp(
                left=ast.Constant(value=2.0),
                right=ast.BinOp(
                    left=ast.BinOp(left=ast.Constant(value=1.0), op=ast.Div(), right=one),
                    op=ast.Add(),
                    right=ast.BinOp(left=ast.Constant(value=1.0), op=ast.Div(), right=other),
                ),
            ):
                return 1.0, Operation("harmonic", (self._plain(one), self._plain(other)))
            case ast.BinOp(left=part, right=ast.BinOp(left=same, op=ast.Add(), right=half)) if (
                ast.dump(part) == ast.dump(same) and (number(half) or 0.0) > 0.0
            ):
                return 1.0, Operation("saturation", (self._plain(part),), (number(half) or 0.0,))
        dividend = number(expression.left)
        if dividend is not None and dividend > 0.0:
            scale, node = self._scaled(expression.right)
            return dividend / scale, product((node, -1.0))
        (first, left), (second, right) = self._scaled(expression.left), self._scaled(expression.right)
        match left, right:
            case (
                Operation("product", parts, (1.0, 1.0)),
                Operation("sum", same_parts, (weight, same_weight)),
            ) if (parts, weight) == (same_parts, same_weight):
                return first / (2.0 * weight * second), Operation("harmonic", parts)
        return first / second, product((left, 1.0), (right, -1.0))

    def _added(self, expression: ast.BinOp) -> Node:
        for literal, other in ((expression.left, expression.right), (expression.right, expression.left)):
            if number(literal) == 1.0:
                weight, node = self._scaled(other)
                return Operation("bonus", (node,), (weight,))
        (first, left), (second, right) = self._scaled(expression.left), self._scaled(expression.right)
        match left, right:
            case Operation("max", parts), Operation("min", same_parts) if (
                parts == same_parts and abs(first + second - 1.0) < 1e-9
            ):
                return Operation("blend", parts, (first,))
        return weighted_sum((left, first), (right, second))
