"""How large and how branched a rule is: the five metrics of the paper's appendix on rule complexity."""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import Final

from bife_core.errors import RuleError
from bife_core.rules.language import CLAMPS, NONLINEAR
from bife_core.rules.module import Module, parse
from bife_core.rules.types import Complexity, RejectionError

_SYMBOLS: Final = {"USub": "Sub", "UAdd": "Add"}


def complexity(source: str | bytes) -> Complexity:
    """Measure a rule as it is written, or raise `RuleError` if it cannot be parsed; it need not be an allowed rule.

    - `ast_nodes`: all nodes of the syntax tree of the source, docstrings and imports included;
    - `operators`: distinct arithmetic and comparison operators, a sign counting as ``+`` or ``-``;
    - `nonlinear_calls`: calls of functions such as `exp`, `log`, `sqrt`, `tanh` and `abs` (``**`` is an operator);
    - `branches`: `if` statements, each `elif` included, conditional expressions, and calls of `min`, `max`,
      `np.clip` and their like;
    - `intermediate_variables`: distinct names the source assigns.

    Examples
    --------
    >>> complexity("def candidate_variable_score(f): return max(f[20], 0.0) * f[21]").branches
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
    assigned: set[str] = set()
    nonlinear = branches = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.AugAssign):
            operators.add(type(node.op).__name__)
        elif isinstance(node, ast.UnaryOp) and type(node.op).__name__ in _SYMBOLS:
            operators.add(_SYMBOLS[type(node.op).__name__])
        elif isinstance(node, ast.Compare):
            operators.update(type(operator).__name__ for operator in node.ops)
        elif isinstance(node, ast.If | ast.IfExp):
            branches += 1
        elif isinstance(node, ast.Call):
            called = names.meaning(node.func)
            nonlinear += called in NONLINEAR
            branches += called in CLAMPS
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
    return Complexity(sum(1 for _ in ast.walk(tree)), len(operators), nonlinear, branches, len(assigned))
