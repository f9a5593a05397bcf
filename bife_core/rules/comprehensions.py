"""List comprehensions as loops in functions of their own.

From Python 3.12 on a comprehension is part of its function's bytecode, and numba (0.68) then loses exceptions raised
after one with a condition: the rule would go on with an arbitrary value. A plain loop has no such trouble, and
means the same in every version.
"""

from __future__ import annotations

import ast

from bife_core.rules.checking import parameters


def unroll(functions: tuple[ast.FunctionDef, ...], prefix: str) -> tuple[ast.FunctionDef, ...]:
    """Replace every list comprehension by a call of a new function with the loop in it.

    Parameters
    ----------
    functions : tuple of ast.FunctionDef
        In normal form, the scoring function first; they are changed.
    prefix : str
        What the names of new functions and variables start with; a rule may not use it.

    Returns
    -------
    tuple of ast.FunctionDef
        The functions given, then the new ones.
    """
    found: list[ast.FunctionDef] = []
    for function in functions:
        _Unroll(function, prefix, found).generic_visit(function)
    return (*functions, *found)


class _Unroll(ast.NodeTransformer):
    def __init__(self, function: ast.FunctionDef, prefix: str, found: list[ast.FunctionDef]) -> None:
        self._prefix = prefix
        self._found = found
        self._local = set(parameters(function)) | _names(function, ast.Store)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        self.generic_visit(node)  # inner ones first: they become calls with the outer variables as arguments
        own = set().union(*(_names(generator.target, ast.Store) for generator in node.generators))
        # The first iterable is evaluated outside, where a name may mean something else.
        first = node.generators[0]
        outside = f"{self._prefix}items"
        rest: list[ast.AST] = [node.elt, *first.ifs, *node.generators[1:]]
        read = set().union(*(_names(part, ast.Load) for part in rest))
        captured = sorted((read & self._local) - own)
        name = f"{self._prefix}list_{len(self._found)}"
        result = f"{self._prefix}result"
        body: list[ast.stmt] = [_append(result, node.elt)]
        for generator in reversed(node.generators):
            for test in reversed(generator.ifs):
                body = [ast.If(test=test, body=body, orelse=[])]
            items = _load(outside) if generator is first else generator.iter
            body = [ast.For(target=generator.target, iter=items, body=body, orelse=[])]
        empty = ast.Assign(
            targets=[ast.Name(id=result, ctx=ast.Store())], value=ast.List(elts=[], ctx=ast.Load())
        )
        made = ast.FunctionDef(
            name=name,
            args=ast.arguments(
                posonlyargs=[],
                args=[ast.arg(arg=argument) for argument in (outside, *captured)],
                kwonlyargs=[],
                kw_defaults=[],
                defaults=[],
            ),
            body=[empty, *body, ast.Return(value=_load(result))],
            decorator_list=[],
        )
        if "type_params" in ast.FunctionDef._fields:  # Python 3.12 and later
            made.type_params = []  # type: ignore[attr-defined, unused-ignore]
        self._found.append(ast.fix_missing_locations(ast.copy_location(made, node)))
        arguments: list[ast.expr] = [first.iter, *map(_load, captured)]
        call = ast.Call(func=_load(name), args=arguments, keywords=[])
        return ast.fix_missing_locations(ast.copy_location(call, node))


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def _load(name: str) -> ast.Name:
    return ast.Name(id=name, ctx=ast.Load())


def _append(name: str, value: ast.expr) -> ast.stmt:
    method = ast.Attribute(value=_load(name), attr="append", ctx=ast.Load())
    return ast.Expr(value=ast.Call(func=method, args=[value], keywords=[]))
