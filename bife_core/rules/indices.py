"""Which of the features a rule reads, as far as its text tells."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable
from typing import Final

from bife_core.features import N_FEATURES
from bife_core.rules.checking import parameters
from bife_core.rules.refusal import forbidden

_MAX_VALUES: Final = 500
_LARGEST: Final = 2**31
"""Larger integers are no index; following products of products would fill the memory with one number."""


def features_read(functions: tuple[ast.FunctionDef, ...]) -> frozenset[int] | None:
    """Return the feature indices a rule reads, or None when the text does not settle them.

    Aliases of the vector, integer constants, loops over constant ranges, slices, and helpers the vector is
    handed to are followed.

    Parameters
    ----------
    functions : tuple of ast.FunctionDef
        In normal form, the scoring function first.

    Raises
    ------
    Refusal
        If a constant index lies outside the vector.
    """
    by_name = {function.name: function for function in functions}
    read: set[int] = set()
    known = True
    # A dict for its order; `bife_core.rules.growth` bounds how many ways there are to call a helper.
    found = {(functions[0].name, frozenset(parameters(functions[0]))): None}
    pending = list(found)
    for name, vectors in pending:  # grows while it is walked
        reader = _Reader(by_name[name], vectors, by_name)
        known &= reader.run()
        read |= reader.read
        new = dict.fromkeys(call for call in reader.calls if call not in found)
        found |= new
        pending += new
    return frozenset(read) if known else None


class _Reader:
    """One function, in which some parameters hold the feature vector."""

    def __init__(
        self, function: ast.FunctionDef, vectors: frozenset[str], functions: dict[str, ast.FunctionDef]
    ) -> None:
        self.read: set[int] = set()
        self.calls: list[tuple[str, frozenset[str]]] = []
        self._function = function
        self._functions = functions
        self._sources: dict[str, list[ast.expr | None]] = {name: [None] for name in parameters(function)}
        self._note_sources()
        self._vectors = set(vectors)
        self._find_aliases()
        self._settled: dict[str, frozenset[int] | None] = {}

    def run(self) -> bool:
        """Note all reads; return False if an index is computed, or the vector is used as a whole."""
        return not self._any(self._function.body)

    def _note_sources(self) -> None:
        for node in ast.walk(self._function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._note(target, node.value)
            elif isinstance(node, ast.For | ast.comprehension):
                self._note(node.target, ast.Starred(value=node.iter))

    def _note(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._sources.setdefault(target.id, []).append(value)
        elif (
            isinstance(value, ast.Tuple)
            and isinstance(target, ast.Tuple)
            and len(target.elts) == len(value.elts)
        ):
            for inner, source in zip(target.elts, value.elts, strict=True):
                self._note(inner, source)
        else:
            for node in ast.walk(target):
                if isinstance(node, ast.Name):
                    self._sources.setdefault(node.id, []).append(None)

    def _find_aliases(self) -> None:
        for name in self._vectors & set(self._sources):
            if len(self._sources[name]) > 1:  # the parameter is assigned again
                self._vectors.discard(name)
        changed = True
        while changed:
            changed = False
            for name, values in self._sources.items():
                if name in self._vectors or len(values) != 1:
                    continue
                value = values[0]
                if isinstance(value, ast.Name) and value.id in self._vectors:
                    self._vectors.add(name)
                    changed = True

    def _is_vector(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in self._vectors

    def _visit(self, node: ast.AST) -> bool:
        """Note what a node reads; return whether something cannot be told."""
        if isinstance(node, ast.Subscript) and self._is_vector(node.value):
            inner = self._visit(node.slice)
            return self._note_index(node) or inner
        if isinstance(node, ast.Assign) and self._is_vector(node.value):
            return not all(self._is_vector(target) for target in node.targets)
        if isinstance(node, ast.Attribute) and self._is_vector(node.value):
            return node.attr not in ("shape", "size", "ndim")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "len" and node.func.id not in self._sources:
                return self._any(argument for argument in node.args if not self._is_vector(argument))
            if node.func.id in self._functions:
                self._follow(node, self._functions[node.func.id])
                return self._any(argument for argument in node.args if not self._is_vector(argument))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in self._vectors:
            return True
        # A parameter that is assigned again is the vector in part of the text only.
        if isinstance(node, ast.Name) and node.id not in self._vectors and self._was_vector(node.id):
            return True
        return self._any(ast.iter_child_nodes(node))

    def _any(self, nodes: Iterable[ast.AST]) -> bool:
        # All are visited, whatever the first one says.
        return any([self._visit(node) for node in nodes])  # noqa: C419

    def _was_vector(self, name: str) -> bool:
        values = self._sources.get(name, [])
        holds = [value is not None and self._is_vector(value) for value in values]
        return len(values) > 1 and (None in values or any(holds))

    def _follow(self, call: ast.Call, helper: ast.FunctionDef) -> None:
        names = parameters(helper)
        vectors = frozenset(
            name for name, argument in zip(names, call.args, strict=True) if self._is_vector(argument)
        )
        self.calls.append((helper.name, vectors))

    def _note_index(self, node: ast.Subscript) -> bool:
        if isinstance(node.slice, ast.Slice):
            return self._note_slice(node.slice)
        values = self._values(node.slice)
        if values is None:
            return True
        outside = sorted(value for value in values if not 0 <= value < N_FEATURES)
        if outside and len(values) == 1:
            raise forbidden(f"feature index {outside[0]} is outside 0 to {N_FEATURES - 1}", node)
        self.read |= values - set(outside)
        return bool(outside)

    def _note_slice(self, part: ast.Slice) -> bool:
        ends = []
        for end in (part.lower, part.upper, part.step):
            values = frozenset({None}) if end is None else self._values(end)
            if values is None or len(values) != 1:
                return True
            ends.append(next(iter(values)))
        if ends[2] == 0:
            return True
        self.read |= set(range(N_FEATURES)[slice(*ends)])
        return False

    def _values(self, node: ast.expr) -> frozenset[int] | None:
        """All values an integer expression can take, or None if unknown or too many."""
        if isinstance(node, ast.Constant):
            if type(node.value) is float:
                raise forbidden(f"a feature index must be an integer, not {node.value!r}", node)
            return frozenset({node.value}) if type(node.value) is int else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self._values(node.operand)
            return None if inner is None else frozenset(-value for value in inner)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            left, right = self._values(node.left), self._values(node.right)
            if left is None or right is None or len(left) * len(right) > _MAX_VALUES:
                return None
            values = frozenset(_combine(node.op, a, b) for a, b in itertools.product(left, right))
            return values if all(abs(value) <= _LARGEST for value in values) else None
        if isinstance(node, ast.Name):
            return self._values_of_name(node.id)
        return None

    def _values_of_name(self, name: str) -> frozenset[int] | None:
        if name not in self._settled:
            self._settled[name] = None  # the answer for a name that depends on itself
            self._settled[name] = self._union(
                [self._source_values(s) for s in self._sources.get(name, [None])]
            )
        return self._settled[name]

    def _source_values(self, source: ast.expr | None) -> frozenset[int] | None:
        if isinstance(source, ast.Starred):
            return self._elements(source.value)
        if source is None or (isinstance(source, ast.Constant) and type(source.value) is not int):
            return None
        return self._values(source)

    def _elements(self, node: ast.expr) -> frozenset[int] | None:
        """All elements of a constant range, tuple or list, written in place or given a name once."""
        if isinstance(node, ast.Name):
            sources = self._sources.get(node.id, [])
            node = sources[0] if len(sources) == 1 and sources[0] is not None else node
        if isinstance(node, ast.Tuple | ast.List):
            return self._union([self._values(element) for element in node.elts])
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return None
        if node.func.id != "range" or "range" in self._sources or not 1 <= len(node.args) <= 3:
            return None
        bounds = []
        for argument in node.args:
            values = self._values(argument)
            if values is None or len(values) != 1:
                return None
            bounds.append(next(iter(values)))
        if bounds[2:] == [0] or len(range(*bounds)) > _MAX_VALUES:
            return None
        return frozenset(range(*bounds))

    @staticmethod
    def _union(parts: list[frozenset[int] | None]) -> frozenset[int] | None:
        known = [part for part in parts if part is not None]
        found = frozenset().union(*known)
        return found if len(known) == len(parts) and len(found) <= _MAX_VALUES else None


def _combine(operator: ast.operator, left: int, right: int) -> int:
    if isinstance(operator, ast.Add):
        return left + right
    return left - right if isinstance(operator, ast.Sub) else left * right
