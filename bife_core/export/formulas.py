"""The formulas of `bife_core.features` in C, made from their Python: a feature has one description.

A formula is a function of numbers, of sequences of numbers, and of what a fold has gathered, which is a tuple. In C a
tuple is an array: one that a formula takes is read, and what it returns is written to `out`, which may be the same.
"""

from __future__ import annotations

import ast
import inspect
import typing
from collections.abc import Callable
from functools import cache
from textwrap import dedent
from typing import Any

from bife_core.errors import RuleError
from bife_core.export.clang import C_TYPES, Code, Kind, cast
from bife_core.export.statements import Statements, folded


@cache
def formula_in_c(function: Callable[..., Any]) -> tuple[str, frozenset[str]]:
    """Return the C of a formula, and which functions of the library it calls.

    Raises
    ------
    RuleError
        If it says something that has no counterpart in C.
    """
    writer = _Formula(function)
    return writer.written(), frozenset(writer.uses)


def first_sentence(function: Callable[..., Any]) -> str:
    """Return what a formula does, as its docstring begins."""
    return (inspect.getdoc(function) or "").split("\n")[0].replace("`", "")


class _Formula(Statements):
    def __init__(self, function: Callable[..., Any]) -> None:
        (source,) = ast.parse(dedent(inspect.getsource(function))).body
        assert isinstance(source, ast.FunctionDef)
        self.source = source
        self.about = first_sentence(function)
        self.tuples: dict[str, list[Code]] = {}
        self.sequences: set[str] = set()
        hints = typing.get_type_hints(function)
        self.scalar = hints.pop("return") is float
        kinds: dict[str, Kind] = {}
        parameters = []
        for name, hint in hints.items():
            if hint in (float, int, bool):
                kinds[name] = "real" if hint is float else "whole" if hint is int else "flag"
                parameters.append(f"{C_TYPES[kinds[name]]} {name}")
            elif typing.get_origin(hint) is tuple:
                self.tuples[name] = [Code(f"{name}[{i}]", "real") for i in range(len(typing.get_args(hint)))]
                parameters.append(f"const double* {name}")
            else:
                self.sequences.add(name)
                parameters.append(f"const double* {name}")
        if self.sequences:
            parameters.append("int n_values")
        self.parameters = parameters + ([] if self.scalar else ["double* out"])
        self.given = set(hints)
        names = {inner.id for inner in ast.walk(source) if isinstance(inner, ast.Name)}
        super().__init__(kinds, {name: name for name in names})
        end = source.body[-1]
        self.last = end.value if isinstance(end, ast.Return) else None

    def written(self) -> str:
        """Return the function."""
        while True:
            before = dict(self.kinds)
            self.lines.clear()
            self._block(self.source.body[1:], 1)  # the docstring comes first
            if before == self.kinds:
                break
        result = "double" if self.scalar else "void"
        head = folded(f"static {result} {self.source.name}({', '.join(self.parameters)})")
        body = [line for text in (*self._declared(self.given), *self.lines) for line in folded(text)]
        return "\n".join((f"/* {self.about} */", *head, "{", *body, "}"))

    def code(self, node: ast.expr) -> Code:
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) if name in self.sequences:
                return Code("n_values", "whole")
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in self.sequences:
                return Code(f"{name}[{self.code(index).text}]", "real")
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(place))) if (
                name in self.tuples
            ):
                return self.tuples[name][place]
        return super().code(node)

    def _several(self, node: ast.expr) -> list[Code]:
        match node:
            case ast.Name(id=name) if name in self.tuples:
                return self.tuples[name]
            case ast.Tuple(elts=parts):
                return [self.code(part) for part in parts]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._several(left) + self._several(right)
        raise self._unknown(node)

    def _statement(self, node: ast.stmt, depth: int) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Name(id=name)) if (
                name in self.tuples
            ):
                for target, value in zip(targets, self.tuples[name], strict=True):
                    assert isinstance(target, ast.Name)
                    self._assign(target.id, value, depth)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple(elts=parts)):
                self.tuples[name] = [self.code(part) for part in parts]
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    assert isinstance(target, ast.Name)
                    self._assign(target.id, self.code(value), depth)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                self._assign(name, self.binary(ast.Name(name, ast.Load()), op, value), depth)
            case ast.If():
                self._if(node, "if", depth)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[stop]), body=body):
                self.kinds[name] = "whole"
                self._emit(f"for( {name} = 0; {name} < {self.code(stop).text}; ++{name} )", depth)
                self._braced(body, depth)
            case ast.Return(value=ast.expr() as value):
                self._return(value, depth)
            case _:
                raise self._unknown(node)

    def _return(self, value: ast.expr, depth: int) -> None:
        if self.scalar:
            self._emit(f"return {self.real(value).text};", depth)
            return
        # All is computed before anything is written: `out` may be what was read.
        values = ", ".join(cast(part, "real").text for part in self._several(value))
        self._emit(f"const double result[] = {{{values}}};", depth)
        self._emit("memcpy(out, result, sizeof(result));", depth)
        if value is not self.last:
            self._emit("return;", depth)

    def _unknown(self, node: ast.AST) -> RuleError:
        where = getattr(node, "lineno", 0)
        return RuleError(
            f"Line {where} of the formula {self.source.name} has no counterpart in C; say it simpler."
        )
