"""A rule's function and helpers as Python syntax, with named constants replaced by their numbers."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from bife_core.features import N_FEATURES
from bife_core.rules.language import FUNCTION_NAME
from bife_core.syntax import NOT_PYTHON, syntax_tree


@dataclass(frozen=True, slots=True)
class RuleSyntax:
    """The asked function of a rule and the other functions beside it, by name."""

    function: ast.FunctionDef
    helpers: dict[str, ast.FunctionDef]


def parse_rule(source: str) -> RuleSyntax | None:
    """Return the functions of a rule, or None when the source is no Python or lacks the asked function."""
    try:
        tree = syntax_tree(source)
    except NOT_PYTHON:
        return None
    shared = _constants(tree.body)
    functions = {
        node.name: _Substitution(shared | _constants(node.body), node).visit(node)
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    asked = functions.pop(FUNCTION_NAME, None)
    return RuleSyntax(asked, functions) if asked is not None and asked.args.args else None


def number(node: ast.expr) -> float | None:
    """Return the value of a literal number, or of the difference of two, or None."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        left, right = number(node.left), number(node.right)
        return left - right if left is not None and right is not None else None
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    return None


def assignments(statement: ast.stmt) -> list[tuple[str, ast.expr]] | None:
    """Return names with what they are assigned, for ``a = x`` and ``a, b = x, y``, else None."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Name):
        return [(target.id, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        names = [name.id for name in target.elts if isinstance(name, ast.Name)]
        return list(zip(names, value.elts, strict=True)) if len(names) == len(target.elts) else None
    return None


def features_read(source: str) -> tuple[int, ...]:
    """Return the constant feature indices in a rule's source, each once, in order of occurrence."""
    rule = parse_rule(source)
    if rule is None:
        return ()
    names = {rule.function.args.args[0].arg}
    for node in ast.walk(rule.function):
        if isinstance(node, ast.Assign):
            names |= {
                name
                for name, value in assignments(node) or []
                if isinstance(value, ast.Name) and value.id in names
            }
    subscripts = [
        node
        for node in ast.walk(rule.function)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names
    ]
    found: dict[int, None] = {}
    for node in sorted(subscripts, key=lambda item: (item.lineno, item.col_offset)):
        index = number(node.slice)
        if index is not None and index.is_integer() and 0 <= index < N_FEATURES:
            found[int(index)] = None
    return tuple(found)


def _constants(body: list[ast.stmt]) -> dict[str, ast.expr]:
    return {
        name: value
        for statement in body
        for name, value in assignments(statement) or []
        if number(value) is not None
    }


class _Substitution(ast.NodeTransformer):
    """Puts numbers in the place of names that stand for one number throughout the function."""

    def __init__(self, constants: dict[str, ast.expr], function: ast.FunctionDef) -> None:
        stored = [
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
        own = _constants(function.body)
        taken = {argument.arg for argument in function.args.args}
        self._constants = {
            name: value
            for name, value in constants.items()
            if name not in taken and stored.count(name) == (1 if name in own else 0)
        }

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self._constants:
            return ast.copy_location(self._constants[node.id], node)
        return node
