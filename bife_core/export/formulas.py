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

from bife_core.export.writing import Writer


@cache
def formula_in_c(function: Callable[..., Any]) -> str:
    """Return the C of a formula, or raise `RuleError` if it says something that has no counterpart in C."""
    (source,) = ast.parse(dedent(inspect.getsource(function))).body
    assert isinstance(source, ast.FunctionDef)
    about = (inspect.getdoc(function) or "").split("\n")[0].replace("`", "")
    del source.body[0]  # the docstring
    return f"/* {about} */\n{_Formula(source, typing.get_type_hints(function)).written()}"


class _Formula(Writer):
    def __init__(self, source: ast.FunctionDef, hints: dict[str, Any]) -> None:
        super().__init__(source)
        self._features = {}
        self.tuples: dict[str, list[str]] = {}
        self.scalar = hints.pop("return") is float
        self.given = list(hints)
        declared = []
        for name, hint in hints.items():
            if hint in (float, int):
                declared.append(f"double {name}")
                continue
            declared.append(f"const double* {name}")
            if typing.get_origin(hint) is tuple:
                self.tuples[name] = [f"{name}[{i}]" for i in range(len(typing.get_args(hint)))]
            elif "n_values" not in self.given:
                self.given.append("n_values")
        declared += ["int n_values"] * ("n_values" in self.given)
        declared += [] if self.scalar else ["double* out"]
        self.head = f"{'double' if self.scalar else 'void'} {source.name}({', '.join(declared)})"

    def written(self) -> str:
        """Return the function."""
        bound: list[str] = []
        for node in ast.walk(self.source):
            match node:
                case (
                    ast.For(target=ast.Name(id=name))
                    | ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple())
                ):
                    bound.append(name)
        return self.function(self.head, [*self.given, *bound])

    def code(self, node: ast.expr) -> str:
        match node:
            case ast.Call(func=ast.Name(id="len")):
                return "n_values"
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(place))):
                return self.tuples[name][place]
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                return f"{name}[{self.code(index)}]"
        return super().code(node)

    def _several(self, node: ast.expr) -> list[str]:
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
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                for target, part in zip(targets, self._several(value), strict=True):
                    self.emit(f"{self.code(target)} = {part};", depth)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple(elts=parts)):
                self.tuples[name] = [self.code(part) for part in parts]
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self.emit(f"{self.code(target)} = {self.code(value)};", depth)
            case ast.AugAssign(target=target, op=op, value=value):
                self.emit(f"{self.code(target)} = {self.binary(target, op, value)};", depth)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[_]), body=body):
                self.braced(f"for( int {name} = 0; {name} < n_values; ++{name} )", body, depth)
            case ast.Return(value=ast.expr() as value) if not self.scalar:
                # All is computed before anything is written: `out` may be what was read.
                self.emit(f"const double result[] = {{{', '.join(self._several(value))}}};", depth)
                self.emit("memcpy(out, result, sizeof(result));", depth)
                if node is not self.source.body[-1]:
                    self.emit("return;", depth)
            case _:
                super().statement(node, depth)
