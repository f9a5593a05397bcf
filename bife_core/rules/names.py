"""What the names of a rule's module mean: imports, constants, functions."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from bife_core.rules.language import BUILTINS, CONSTANTS, FUNCTION_NAME, FUNCTIONS, MAX_FUNCTIONS
from bife_core.rules.parsing import count_nodes
from bife_core.rules.rejections import RejectionError, forbidden

_MODULES = {"numpy": "np", "math": "math"}

_MAX_CONSTANT_NODES = 300


@dataclass
class Names:
    """Meaning of the module-level names of one rule.

    Attributes
    ----------
    imported : dict
        Local name to ``"np"``, ``"math"`` or a dotted name below them such as ``"np.sqrt"``.
    constants : dict
        Name to the expression it stands for, itself free of names of other constants.
    functions : dict
        Name to definition; helpers written inside another function are lifted here.
    """

    imported: dict[str, str] = field(default_factory=lambda: {"np": "np", "math": "math"})
    constants: dict[str, ast.expr] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)

    def canonical(self, node: ast.expr) -> str | None:
        """Return what an expression names: ``"np.exp"``, ``"max"``, ``"math"``, a helper's name, or None."""
        if isinstance(node, ast.Name):
            known = self.imported.get(node.id)
            if known is not None:
                return known
            return node.id if node.id in BUILTINS or node.id in self.functions else None
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = self.imported.get(node.value.id)
            if module in ("np", "math"):
                return f"{module}.{node.attr}"
        return None


def collect(tree: ast.Module) -> Names:
    """Read the module level of a rule: imports, constants and functions, and nothing else.

    Raises
    ------
    RejectionError
        If anything else stands there, or the asked function does not, or not exactly once.
    """
    names = Names()
    assigned: list[ast.Assign | ast.AnnAssign] = []
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            add_import(names, statement)
        elif isinstance(statement, ast.FunctionDef):
            add_function(names, statement)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            assigned.append(statement)
        elif not is_bare_constant(statement):
            raise forbidden("only imports, constants and functions may stand outside a function", statement)
    if FUNCTION_NAME not in names.functions:
        raise RejectionError("signature", f"The source must define {FUNCTION_NAME}(variable_features).")
    for function in list(names.functions.values()):
        _lift_helpers(names, function)
    for statement in assigned:
        _add_constant(names, statement)
    return names


def is_bare_constant(statement: ast.stmt) -> bool:
    """Tell whether a statement is a docstring or another literal without effect."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def add_import(names: Names, statement: ast.Import | ast.ImportFrom) -> None:
    """Note what an import binds.

    Raises
    ------
    RejectionError
        If it imports anything but numpy, math, or allowed names from them.
    """
    for alias in statement.names:
        if isinstance(statement, ast.Import):
            target = _MODULES.get(alias.name)
            shown = alias.name
        else:
            module = _MODULES.get(statement.module or "") if statement.level == 0 else None
            target = f"{module}.{alias.name}" if module else None
            shown = f"{statement.module or '.'}.{alias.name}"
            if target is not None and target not in FUNCTIONS and target not in CONSTANTS:
                raise forbidden(f"{shown} is not among the functions a rule may use", statement)
        if target is None:
            raise forbidden(f"a rule may import numpy and math only, not {shown}", statement)
        bound = alias.asname or alias.name
        if names.imported.get(bound, target) != target:
            raise forbidden(f"{bound!r} is imported twice with different meanings", statement)
        names.imported[bound] = target


def add_function(names: Names, function: ast.FunctionDef) -> None:
    """Note a function definition.

    Raises
    ------
    RejectionError
        If its name is taken.
    """
    if function.name in names.functions:
        raise RejectionError("signature", f"the function {function.name!r} is defined twice", function)
    if function.name in names.imported or function.name in BUILTINS:
        raise forbidden(
            f"a helper may not be called {function.name!r}, which has a meaning already", function
        )
    if len(names.functions) == MAX_FUNCTIONS:
        raise forbidden(f"a rule may have at most {MAX_FUNCTIONS} functions", function)
    names.functions[function.name] = function


def _lift_helpers(names: Names, function: ast.FunctionDef) -> None:
    for statement in function.body:
        if isinstance(statement, ast.FunctionDef):
            add_function(names, statement)
            _lift_helpers(names, statement)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            add_import(names, statement)


def _add_constant(names: Names, statement: ast.Assign | ast.AnnAssign) -> None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if statement.value is None:
        return
    value: ast.expr = _Constants(names).visit(statement.value)  # type: ignore[assignment]
    if count_nodes(value) > _MAX_CONSTANT_NODES:
        raise forbidden("this constant is too large", statement)
    for target in targets:
        _bind(names, target, value)


def _bind(names: Names, target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for inner, part in zip(target.elts, value.elts, strict=True):
            _bind(names, inner, part)
        return
    if not isinstance(target, ast.Name):
        raise forbidden("a constant outside the function must be a plain name", target)
    taken = target.id in names.imported or target.id in names.functions or target.id in BUILTINS
    if taken or target.id in names.constants:
        raise forbidden(f"the name {target.id!r} has a meaning already", target)
    names.constants[target.id] = value


class _Constants(ast.NodeTransformer):
    """Checks that an expression is made of numbers only, and puts earlier constants in."""

    _ALLOWED = (
        ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Tuple, ast.List, ast.Load,
    )  # fmt: skip

    def __init__(self, names: Names) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Name) and node.id in self._names.constants:
            return self._names.constants[node.id]
        if isinstance(node, ast.expr) and self._names.canonical(node) in CONSTANTS:
            return node
        if not isinstance(node, self._ALLOWED) or (isinstance(node, ast.Constant) and not _is_number(node)):
            raise forbidden("a constant outside the function must be made of numbers only", node)
        return self.generic_visit(node)


def _is_number(node: ast.Constant) -> bool:
    return isinstance(node.value, int | float)
