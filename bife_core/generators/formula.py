"""What a rule computes, read from its code: for one whose description is missing or no longer fits its numbers."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping

from bife_core.features import FEATURES, N_FEATURES
from bife_core.rules.language import FUNCTION_NAME
from bife_core.rules.literals import GUARD
from bife_core.syntax import NOT_PYTHON, syntax_tree


class _Reader(ast.NodeTransformer):
    """Names features instead of places in the array, and leaves out modules and guards against zero."""

    def __init__(self, names: Mapping[str, str], array: str) -> None:
        self._names, self._array = names, array

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Name(node.attr, node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match self.generic_visit(node):
            case ast.Subscript(ast.Name(self._array), ast.Constant(int(index))) if 0 <= index < N_FEATURES:
                return ast.Name(FEATURES[index].name, node.ctx)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match self.generic_visit(node):
            case ast.Call(ast.Name("max"), [value, ast.Constant(float(guard))]) if guard <= GUARD:
                return value
        return node


def formula(source: str) -> str | None:
    r"""Return the steps of a rule, the last first, with the names of features; None for what is no rule.

    Examples
    --------
    >>> formula("def candidate_variable_score(f):\n  up = max(f[20], 1e-6)\n  s = 2 * up\n  return s + f[18]")
    's + slack; s = 2 * pseudocost_up'
    """
    try:
        tree = syntax_tree(source)
    except NOT_PYTHON:
        return None
    functions = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == FUNCTION_NAME]
    if not functions or not functions[0].args.args:
        return None
    array = functions[0].args.args[0].arg
    stored = Counter(
        node.id
        for node in ast.walk(functions[0])
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    names: dict[str, str] = {}
    steps: list[str] = []
    last = ""
    for statement in functions[0].body:
        match read := _Reader(names, array).visit(statement):
            case ast.Expr(ast.Constant()):  # the docstring
                continue
            case ast.Assign([ast.Name(name)], ast.Name(same)) if stored[name] == 1:
                names[name] = same
                continue
            case ast.AugAssign(ast.Name(name), ast.Add() | ast.Sub() as sign, value) if name == last:
                text = ast.unparse(value)
                steps[-1] += f" + {text}" if isinstance(sign, ast.Add) else f" - ({text})"
                continue
            case ast.Return(ast.Name(name)) if name == last:
                steps[-1] = steps[-1].removeprefix(f"{name} = ")
                continue
        last = (
            read.targets[0].id
            if isinstance(read, ast.Assign) and isinstance(read.targets[0], ast.Name)
            else ""
        )
        steps.append(" ".join(ast.unparse(read).split()).removeprefix("return "))
    return "; ".join(reversed(steps)) or None
