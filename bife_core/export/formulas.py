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

from bife_core.export.clang import Code
from bife_core.export.writing import Writer


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


class _Formula(Writer):
    def __init__(self, function: Callable[..., Any]) -> None:
        (source,) = ast.parse(dedent(inspect.getsource(function))).body
        assert isinstance(source, ast.FunctionDef)
        super().__init__(source, {})
        self.about = first_sentence(function)
        self.tuples: dict[str, list[Code]] = {}
        self.sequences: set[str] = set()
        hints = typing.get_type_hints(function)
        self.scalar = hints.pop("return") is float
        declared = []
        for name, hint in hints.items():
            if hint in (float, int):
                declared.append(f"double {self.spelled[name]}")
                continue
            declared.append(f"const double* {name}")
            if typing.get_origin(hint) is tuple:
                self.tuples[name] = [Code(f"{name}[{i}]") for i in range(len(typing.get_args(hint)))]
            else:
                self.sequences.add(name)
        if self.sequences:
            declared.append("int n_values")
        result = "double" if self.scalar else "void"
        self.head = (
            f"{result} {source.name}({', '.join(declared + ([] if self.scalar else ['double* out']))})"
        )
        self.given = list(hints)

    def written(self) -> str:
        """Return the function."""
        self.block(self.source.body[1:], 1)  # the docstring comes first
        counters = {node.target.id for node in ast.walk(self.source) if isinstance(node, ast.For)}  # type: ignore[attr-defined]
        return f"/* {self.about} */\n" + self.function(self.head, [*self.given, *self.tuples, *counters], [])

    def code(self, node: ast.expr) -> Code:
        match node:
            case ast.Call(func=ast.Name(id="len")):
                return Code("n_values")
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in self.sequences:
                return Code(f"{name}[{self.code(index).text}]")
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(place))):
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
        raise self.unknown(node)

    def statement(self, node: ast.stmt, depth: int) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Name(id=name)):
                for target, value in zip(targets, self.tuples[name], strict=True):
                    self.emit(f"{self.code(target).text} = {value.text};", depth)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple(elts=parts)):
                self.tuples[name] = [self.code(part) for part in parts]
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self.emit(f"{self.code(target).text} = {self.code(value).text};", depth)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                self.emit(f"{self.code(target).text} = {self.binary(target, op, value).text};", depth)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[_]), body=body):
                self.emit(
                    f"for( int {self.spelled[name]} = 0; {self.spelled[name]} < n_values; ++{self.spelled[name]} )",
                    depth,
                )
                self.braced(body, depth)
            case ast.Return(value=ast.expr() as value) if not self.scalar:
                # All is computed before anything is written: `out` may be what was read.
                values = ", ".join(part.text for part in self._several(value))
                self.emit(f"const double result[] = {{{values}}};", depth)
                self.emit("memcpy(out, result, sizeof(result));", depth)
                if node is not self.source.body[-1]:
                    self.emit("return;", depth)
            case _:
                super().statement(node, depth)
