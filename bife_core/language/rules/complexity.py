"""How large and how branched a rule is: the five metrics of the paper's appendix on rule complexity."""

from __future__ import annotations

import ast
from contextlib import suppress

from bife_core.base.errors import RuleError
from bife_core.language.rules.language import CLAMPS, NONLINEAR
from bife_core.language.rules.module import Module, parse
from bife_core.language.rules.types import RejectionError
from bife_core.language.syntax import assigned


def complexity(source: str | bytes) -> dict[str, int]:
    """Measure a rule, allowed or not, or raise `RuleError` if it cannot be parsed.

    Counted are nodes of the syntax tree; distinct operators and comparisons, a sign being ``+`` or ``-``; calls such as
    `exp` and `abs`; branches: `if`, conditional expressions, `min`, `max` and the like; names assigned.

    Examples
    --------
    >>> complexity("def candidate_variable_score(f): return max(f[20], 0.0) * f[21]")["branches"]
    1
    """
    try:
        tree = parse(source)
    except RejectionError as error:
        raise RuleError(error.rejection.reason) from error
    names = Module()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            with suppress(RejectionError):
                names.add_import(node)
    operators: set[str] = set()
    nonlinear = branches = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.AugAssign):
            operators.add(type(node.op).__name__)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            operators.add("Sub" if isinstance(node.op, ast.USub) else "Add")
        elif isinstance(node, ast.Compare):
            operators.update(type(operator).__name__ for operator in node.ops)
        elif isinstance(node, ast.If | ast.IfExp):
            branches += 1
        elif isinstance(node, ast.Call):
            called = names.meaning(node.func)
            nonlinear += called in NONLINEAR
            branches += called in CLAMPS
    return {
        "ast_nodes": len([*ast.walk(tree)]),
        "operators": len(operators),
        "nonlinear_calls": nonlinear,
        "branches": branches,
        "intermediate_variables": len(set(assigned(tree))),
    }
