"""Statements of one function in C: blocks, branches, assignments, and the variables they need."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Container
from textwrap import wrap
from typing import Final

from bife_core.export.clang import C_TYPES, Code, Kind, cast, joined, truth
from bife_core.export.expressions import Expressions

_WIDTH: Final = 110


class Statements(Expressions, ABC):
    """Writes the lines of one function; what a statement is, those that derive from it say.

    Attributes
    ----------
    lines : list of str
        What is written so far.
    """

    def __init__(self, kinds: dict[str, Kind], spelled: dict[str, str]) -> None:
        super().__init__(kinds, spelled)
        self.lines: list[str] = []

    @abstractmethod
    def _statement(self, node: ast.stmt, depth: int) -> None:
        """Write one statement, indented by `depth`."""

    def _declared(self, given: Container[str]) -> list[str]:
        """Return the declarations of all variables but those that are given."""
        declared: dict[Kind, list[str]] = {}
        for name, kind in self.kinds.items():
            if name not in given:
                declared.setdefault(kind, []).append(self.spelled[name])
        return [f"   {C_TYPES[kind]} {', '.join(names)};" for kind, names in declared.items()]

    def _emit(self, text: str, depth: int) -> None:
        self.lines.append("   " * depth + text)

    def _block(self, statements: list[ast.stmt], depth: int) -> None:
        for statement in statements:
            self._statement(statement, depth)

    def _assign(self, name: str, value: Code, depth: int) -> None:
        self.kinds[name] = joined((self.kinds.get(name, value.kind), value.kind))
        self._emit(f"{self.spelled[name]} = {cast(value, self.kinds[name]).text};", depth)

    def _if(self, node: ast.If, word: str, depth: int) -> None:
        self._emit(f"{word}( {truth(self.code(node.test)).text} )", depth)
        self._braced(node.body, depth)
        match node.orelse:
            case [ast.If() as further]:
                self._if(further, "else if", depth)
            case [_, *_] as otherwise:
                self._emit("else", depth)
                self._braced(otherwise, depth)

    def _braced(self, body: list[ast.stmt], depth: int) -> None:
        self._emit("{", depth)
        self._block(body, depth + 1)
        self._emit("}", depth)


def folded(text: str) -> list[str]:
    """Return a long line as several."""
    if len(text) <= _WIDTH:
        return [text]
    indent = " " * (len(text) - len(text.lstrip()))
    return wrap(
        text.strip(),
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "      ",
        break_long_words=False,
        break_on_hyphens=False,
    )
