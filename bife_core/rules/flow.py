"""Where control can go: does a function always return, is a loop left by return only."""

from __future__ import annotations

import ast


def always_returns(statements: list[ast.stmt]) -> bool:
    """Tell whether control cannot run past the last of the statements."""
    return any(_stops(statement) for statement in statements)


def _stops(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Return):
        return True
    if isinstance(statement, ast.If):
        return always_returns(statement.body) and always_returns(statement.orelse)
    return isinstance(statement, ast.While) and endless(statement)


def endless(loop: ast.While) -> bool:
    """Tell whether a loop is left by return only: `while True` without a break."""
    return isinstance(loop.test, ast.Constant) and bool(loop.test.value) and not _breaks(loop.body)


def _breaks(statements: list[ast.stmt]) -> bool:
    for statement in statements:
        if isinstance(statement, ast.Break):
            return True
        if isinstance(statement, ast.If) and (_breaks(statement.body) or _breaks(statement.orelse)):
            return True
    return False
