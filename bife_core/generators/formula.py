"""What a rule computes, read from its code: for one whose description is missing or no longer fits its numbers."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence

from bife_core.components import component_of
from bife_core.features import Feature
from bife_core.rules.literals import GUARD
from bife_core.syntax import NOT_PYTHON, functions_in


class _Reader(ast.NodeTransformer):
    """Names features instead of places in the array, and leaves out modules and guards against zero."""

    def __init__(self, names: Mapping[str, str], array: str, features: Sequence[Feature]) -> None:
        self._names, self._array, self._features = names, array, features

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Name(node.attr, node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match self.generic_visit(node):
            case ast.Subscript(ast.Name(self._array), ast.Constant(int(index))) if (
                0 <= index < len(self._features)
            ):
                return ast.Name(self._features[index].name, node.ctx)
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
        component = component_of(source)
        function = functions_in(source)[component.function]
        array = function.args.args[0].arg
    except (*NOT_PYTHON, KeyError, IndexError):
        return None
    known = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    stored = Counter(node.id for node in known if isinstance(node.ctx, ast.Store))
    names: dict[str, str] = {}
    steps: list[str] = []
    last = ""
    for statement in function.body:
        match read := _Reader(names, array, component.features).visit(statement):
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
            case ast.Assign([ast.Name(last)]):
                pass
            case _:
                last = ""
        steps.append(" ".join(ast.unparse(read).split()).removeprefix("return "))
    return "; ".join(reversed(steps)) or None
