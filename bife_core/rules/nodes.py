"""Small pieces of syntax tree, each at the place of the text it stands for."""

from __future__ import annotations

import ast


def name(text: str, where: ast.AST) -> ast.Name:
    """Return a name to read."""
    return ast.copy_location(ast.Name(id=text, ctx=ast.Load()), where)


def dotted(text: str, where: ast.AST) -> ast.expr:
    """Return what a canonical name such as ``"np.exp"`` or ``"max"`` names."""
    module, _, attribute = text.rpartition(".")
    if not module:
        return name(attribute, where)
    return ast.copy_location(ast.Attribute(value=name(module, where), attr=attribute, ctx=ast.Load()), where)


def literal(value: float, where: ast.AST) -> ast.expr:
    """Return a literal."""
    return ast.copy_location(ast.Constant(value=value), where)


def call(function: str, arguments: list[ast.expr], where: ast.AST) -> ast.Call:
    """Return a call of a function by its canonical name."""
    return ast.copy_location(ast.Call(func=dotted(function, where), args=arguments, keywords=[]), where)


def binary(left: ast.expr, operator: ast.operator, right: ast.expr, where: ast.AST) -> ast.expr:
    """Return ``left operator right``."""
    return ast.copy_location(ast.BinOp(left=left, op=operator, right=right), where)


def element(sequence: ast.expr, index: ast.expr, where: ast.AST) -> ast.expr:
    """Return ``sequence[index]``."""
    return ast.copy_location(ast.Subscript(value=sequence, slice=index, ctx=ast.Load()), where)


def function(name: str, arguments: list[str], body: list[ast.stmt], where: ast.AST) -> ast.FunctionDef:
    """Return a function of positional arguments."""
    made = ast.FunctionDef(
        name=name,
        args=ast.arguments(
            posonlyargs=[],
            args=[ast.arg(arg=argument) for argument in arguments],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        ),
        body=body,
        decorator_list=[],
    )
    if "type_params" in ast.FunctionDef._fields:  # Python 3.12 and later
        made.type_params = []  # type: ignore[attr-defined, unused-ignore]
    return ast.fix_missing_locations(ast.copy_location(made, where))


def as_float(value: ast.expr) -> ast.expr:
    """Return the value times 1.0: a float; numba has no `float` of a boolean."""
    return binary(value, ast.Mult(), literal(1.0, value), value)


def callee_name(node: ast.Call) -> str | None:
    """Return ``"np.exp"``, ``"max"`` or a helper's name for a call in normal form, None for a method."""
    if isinstance(node.func, ast.Name):
        return node.func.id
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        module = node.func.value.id
        return f"{module}.{node.func.attr}" if module in ("np", "math") else None
    return None
