"""The normal form of a checked rule: what is left when everything without effect on scores is taken away.

Hashing and compiling start from it. Docstrings,
annotations and imports are gone; functions of numpy and math have one spelling; ``a += b`` reads ``a = a +
b``, so that a slice of the features can never be changed in place; constants from outside the functions
stand where they are used; calls of helpers name every argument by position; functions that are never called
are dropped.
"""

from __future__ import annotations

import ast
import copy

from bife_core.rules import nodes
from bife_core.rules.checking import local_names, parameters, special_float
from bife_core.rules.language import CONSTANTS, FUNCTION_NAME, FUNCTIONS
from bife_core.rules.names import Names, is_bare_constant


def canonical_functions(names: Names) -> tuple[ast.FunctionDef, ...]:
    """Return the functions of a checked rule in normal form.

    Parameters
    ----------
    names : Names
        Of a rule that passed `bife_core.rules.checking.check`; not changed.

    Returns
    -------
    tuple of ast.FunctionDef
        The scoring function first, then the helpers in the order they are first called from it.
    """
    order = [FUNCTION_NAME]
    functions = []
    for name in order:  # grows while it is walked
        function = _canonical(names, names.functions[name])
        functions.append(function)
        for called in _called(function):
            if called in names.functions and called not in order:
                order.append(called)
    return tuple(functions)


def _canonical(names: Names, function: ast.FunctionDef) -> ast.FunctionDef:
    body = _Canonical(names, local_names(function)).body(function.body)
    return nodes.function(function.name, parameters(function), body, function)


def _called(function: ast.FunctionDef) -> list[str]:
    """Names called, in the order of the text."""
    calls = [
        node for node in ast.walk(function) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    calls.sort(key=lambda call: (call.lineno, call.col_offset))
    return [call.func.id for call in calls if isinstance(call.func, ast.Name)]


class _Canonical(ast.NodeTransformer):
    def __init__(self, names: Names, local: frozenset[str]) -> None:
        self._names = names
        self._local = local

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        kept: list[ast.stmt] = []
        for statement in statements:
            lifted = isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef)
            if lifted or is_bare_constant(statement) or isinstance(statement, ast.Pass):
                continue
            if isinstance(statement, ast.AnnAssign) and statement.value is None:
                continue
            kept.append(self.visit(copy.deepcopy(statement)))
        return kept or [ast.Pass()]

    def visit_If(self, node: ast.If) -> ast.If:
        node.test = self.visit(node.test)
        node.body = self.body(node.body)
        node.orelse = self.body(node.orelse) if node.orelse else []
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        node.iter = self.visit(node.iter)
        node.body = self.body(node.body)
        node.type_comment = None
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        node.test = self.visit(node.test)
        node.body = self.body(node.body)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        node.value = self.visit(node.value)
        node.type_comment = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.Assign:
        assert node.value is not None
        return ast.copy_location(ast.Assign(targets=[node.target], value=self.visit(node.value)), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.Assign:
        assert isinstance(node.target, ast.Name)
        current = ast.copy_location(ast.Name(id=node.target.id, ctx=ast.Load()), node)
        value = ast.copy_location(ast.BinOp(left=current, op=node.op, right=self.visit(node.value)), node)
        return ast.copy_location(ast.Assign(targets=[node.target], value=value), node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Store) or node.id in self._local:
            return node
        constant = self._names.constants.get(node.id)
        if constant is not None:
            # The copy keeps the line of its use, which is what a message should name.
            value = _Relocated(node).visit(copy.deepcopy(constant))
            return _Canonical(self._names, frozenset()).visit(value)  # type: ignore[no-any-return]
        meaning = self._names.canonical(node)
        return nodes.dotted(meaning, node) if meaning in CONSTANTS | FUNCTIONS else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        meaning = self._names.canonical(node)
        if meaning in CONSTANTS | FUNCTIONS:
            return nodes.dotted(meaning, node)
        node.value = self.visit(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        text = special_float(node) if "float" not in self._local else None
        if text is not None:
            value: ast.expr = nodes.dotted("np.nan" if text == "nan" else "np.inf", node)
            if text.startswith("-"):
                value = ast.copy_location(ast.UnaryOp(op=ast.USub(), operand=value), node)
            return value
        helper = self._names.functions.get(self._names.canonical(node.func) or "")
        if helper is not None:
            _fill_arguments(node, helper)
        if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            listed = ast.ListComp(elt=node.args[0].elt, generators=node.args[0].generators)
            node.args[0] = ast.copy_location(listed, node.args[0])
        node.func = self.visit(node.func)
        node.args = [self.visit(argument) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node


class _Relocated(ast.NodeTransformer):
    def __init__(self, where: ast.expr) -> None:
        self._where = where

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr):
            ast.copy_location(node, self._where)
        return super().generic_visit(node)


def _fill_arguments(call: ast.Call, helper: ast.FunctionDef) -> None:
    wanted = parameters(helper)
    defaults = dict(zip(wanted[::-1], helper.args.defaults[::-1], strict=False))
    given = dict(zip(wanted, call.args, strict=False))
    given.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg})
    call.args = [
        given[name] if name in given else _Relocated(call).visit(copy.deepcopy(defaults[name]))
        for name in wanted
    ]
    call.keywords = []
