"""Where control can go: does a function always return, and is every name assigned before it is read."""

from __future__ import annotations

import ast
from typing import Final

from bife_core.rules.checking import parameters

_UNREACHABLE: Final[None] = None


def always_returns(statements: list[ast.stmt]) -> bool:
    """Tell whether control cannot run past the last of the statements."""
    return any(_stops(statement) for statement in statements)


def _stops(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Return):
        return True
    if isinstance(statement, ast.If):
        return always_returns(statement.body) and always_returns(statement.orelse)
    if isinstance(statement, ast.While):
        # `while True` without a break is left by return only.
        return _is_true(statement.test) and not _breaks(statement.body)
    return False


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _breaks(statements: list[ast.stmt]) -> bool:
    for statement in statements:
        if isinstance(statement, ast.Break):
            return True
        if isinstance(statement, ast.If) and (_breaks(statement.body) or _breaks(statement.orelse)):
            return True
    return False


def may_be_unassigned(function: ast.FunctionDef) -> str | None:
    """Return a local name that some path reads before it is assigned, or None.

    Python raises when such a path is taken. Compiled code would read an arbitrary value, so rules with such
    a path are interpreted. Conditions are not weighed: `if c: a = 1` followed by `if c: use(a)` counts.
    """
    analysis = _Assignment(function)
    analysis.run(function.body, frozenset(parameters(function)))
    return analysis.culprit


class _Assignment:
    """Forward analysis; a state is the set of names assigned on every path, None where no path leads."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.culprit: str | None = None
        self._local = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }

    def run(self, statements: list[ast.stmt], state: frozenset[str] | None) -> frozenset[str] | None:
        for statement in statements:
            if state is _UNREACHABLE:
                return _UNREACHABLE
            state = self._after(statement, state)
        return state

    def _after(self, statement: ast.stmt, state: frozenset[str]) -> frozenset[str] | None:
        if isinstance(statement, ast.Assign):
            self._read(statement.value, state)
            for target in statement.targets:
                state = state | _stored(target)
            return state
        if isinstance(statement, ast.If):
            self._read(statement.test, state)
            return _meet(self.run(statement.body, state), self.run(statement.orelse, state))
        if isinstance(statement, ast.For):
            self._read(statement.iter, state)
            # The body may not run at all, so it adds nothing to what is assigned after the loop.
            self.run(statement.body, state | _stored(statement.target))
            return state
        if isinstance(statement, ast.While):
            self._read(statement.test, state)
            self.run(statement.body, state)
            return state
        if isinstance(statement, ast.Return | ast.Expr):
            if statement.value is not None:
                self._read(statement.value, state)
            return _UNREACHABLE if isinstance(statement, ast.Return) else state
        return _UNREACHABLE if isinstance(statement, ast.Break | ast.Continue) else state

    def _read(self, node: ast.AST, state: frozenset[str]) -> None:
        if isinstance(node, ast.ListComp):
            for generator in node.generators:
                self._read(generator.iter, state)
                state = state | _stored(generator.target)
                for test in generator.ifs:
                    self._read(test, state)
            self._read(node.elt, state)
            return
        if isinstance(node, ast.Name) and node.id in self._local and node.id not in state:
            self.culprit = self.culprit or node.id
        for child in ast.iter_child_nodes(node):
            self._read(child, state)


def _stored(target: ast.expr) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _meet(left: frozenset[str] | None, right: frozenset[str] | None) -> frozenset[str] | None:
    if left is _UNREACHABLE:
        return right
    return left if right is _UNREACHABLE else left & right
