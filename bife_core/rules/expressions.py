"""What an expression of a rule comes to: code for one number, or a sequence written out.

Comprehensions, indices and slices are worked out here; `bife_core.rules.reductions` has the functions of sequences. An
index is followed through the integers its names can be, so that the features a rule reads are known exactly where its
text tells.
"""

from __future__ import annotations

import ast
import itertools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from bife_core.features import N_FEATURES
from bife_core.rules.language import BUILTINS, MAX_SEQUENCE, MAX_WRITTEN_OUT, RESERVED_PREFIX
from bife_core.rules.nodes import as_float, call, callee_name, element, literal, name
from bife_core.rules.parsing import count_nodes
from bife_core.rules.rejections import RejectionError, forbidden, no_number
from bife_core.rules.sequences import Features, Sequence, Value, leaves

FEATURES: Final = RESERVED_PREFIX + "features"
"""Name of the feature vector in every function of a scalar program."""

VECTOR: Final = Features(range(N_FEATURES))
"""The features as a whole. Those behind them are read one by one, by indices the text tells."""

_ALL: Final = Features(range(N_FEATURES))

_MAX_INTEGERS: Final = 500
_LARGEST: Final = 2**31
"""Larger integers are no index; following products of products would fill the memory with one number."""

_ARITHMETIC: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


@dataclass(frozen=True, slots=True)
class Variable:
    """A number the running rule keeps under a name.

    Attributes
    ----------
    integers : frozenset of int or None
        All it can be, or None if the text does not tell.
    """

    integers: frozenset[int] | None = None


Meaning: TypeAlias = Variable | Value
"""What a name stands for; an expression is what a comprehension puts in its place."""


class Tally:
    """What a scalar program adds up to: how much of it was written out, and which features it reads."""

    def __init__(self) -> None:
        self.nodes = 0
        self._read: set[int] = set()
        self._by_computed_index = False

    @property
    def features(self) -> frozenset[int] | None:
        """Features the program reads; None for the first `N_FEATURES`, of which the text does not tell which."""
        beyond = any(place >= N_FEATURES for place in self._read)
        return None if self._by_computed_index and not beyond else frozenset(self._read)

    def spend(self, nodes: int, where: ast.AST) -> None:
        """Count syntax nodes as written out.

        Raises
        ------
        RejectionError
            Beyond the limit.
        """
        self.nodes += nodes
        if self.nodes > MAX_WRITTEN_OUT:
            raise too_large(where)

    def reads(self, places: Iterable[int] | None) -> None:
        """Note features the program reads; None where an index is computed, which reaches the first `N_FEATURES`."""
        self._by_computed_index |= places is None
        self._read |= set(VECTOR.places if places is None else places)


def too_large(where: ast.AST) -> RejectionError:
    """Return the error for a rule that is too long once it is written out."""
    return forbidden(
        f"with its helpers and sequences written out, the rule has more than {MAX_WRITTEN_OUT} syntax nodes",
        where,
    )


def spelled(identifier: str) -> str:
    """Return a rule's name as generated code spells it, so that it hides none of the words generated code uses."""
    return RESERVED_PREFIX + identifier if identifier in BUILTINS else identifier


class Expressions(ABC):
    """Works out the expressions of one function.

    Parameters
    ----------
    tally : Tally
        Of the program they become part of.
    names : dict
        Meaning of each name that is assigned, by its generated spelling.
    """

    def __init__(self, tally: Tally, names: dict[str, Meaning]) -> None:
        self.tally = tally
        self.names = names

    @abstractmethod
    def applied(self, called: str, arguments: list[Value], node: ast.Call) -> Value | None:
        """Return what a function of the rule or of sequences comes to; None for a function of numbers."""

    def number(self, node: ast.expr) -> ast.expr:
        """Return code for an expression that must be one number.

        Raises
        ------
        RejectionError
            If it is a sequence, or what it says cannot be written out.
        """
        return self.single(self.value(node), node)

    def single(self, found: Value, where: ast.expr) -> ast.expr:
        """Return a value that must be one number."""
        if isinstance(found, ast.expr):
            return found
        raise no_number(
            "one number is needed here, not a sequence; write a comprehension to compute with each element",
            where,
        )

    def value(self, node: ast.expr) -> Value:
        """Return what an expression comes to.

        Raises
        ------
        RejectionError
            If what it says cannot be written out.
        """
        self.tally.spend(1, node)
        match node:
            case ast.Constant():
                return node
            case ast.Name():
                return self._named(node)
            case ast.Tuple() | ast.List():
                return self.sequence([self.value(part) for part in node.elts], node)
            case ast.ListComp():
                return self._comprehension(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node)
        parts: dict[str, Any] = {}
        for field, part in ast.iter_fields(node):
            if isinstance(part, ast.expr):
                parts[field] = self.number(part)
            elif isinstance(part, list):
                parts[field] = [self.number(p) if isinstance(p, ast.expr) else p for p in part]
            else:
                parts[field] = part
        return ast.copy_location(type(node)(**parts), node)

    def sequence(self, items: list[Value], where: ast.expr) -> Sequence:
        """Return a sequence of limited length."""
        if len(items) > MAX_SEQUENCE:
            raise forbidden(f"a sequence has more than {MAX_SEQUENCE} elements here", where)
        return Sequence(tuple(items))

    def length(self, value: Value, where: ast.expr) -> int:
        """Return the length of a sequence that has a fixed one."""
        if isinstance(value, Features):
            return len(value.places)
        if isinstance(value, Sequence):
            if value.conditions is not None:
                raise no_number(
                    "the length of this sequence depends on the features; only len, sum, any, all, np.sum, np.prod "
                    "and np.mean take such a one (write `x if condition else 0.0` in place of the filter)",
                    where,
                )
            return len(value.items)
        raise no_number("a sequence is needed here, not one number", where)

    def items(self, value: Value, where: ast.expr) -> list[Value]:
        """Return the elements of a sequence of fixed length."""
        self.length(value, where)
        if isinstance(value, Features):
            self.tally.reads(value.places)
            return [element(name(FEATURES, where), literal(i, where), where) for i in value.places]
        return list(value.items) if isinstance(value, Sequence) else []

    def numbers(self, value: Value, where: ast.expr) -> list[ast.expr]:
        """Return the elements of a sequence of numbers."""
        return [self.single(item, where) for item in self.items(value, where)]

    def integers(self, node: ast.expr) -> frozenset[int] | None:
        """Return all integers that generated code can come to, or None if unknown or too many."""
        match node:
            case ast.Constant(value=bool()):
                return None
            case ast.Constant(value=int(value)):
                return frozenset({value})
            case ast.Name(id=text):
                meaning = self.names.get(text)
                return meaning.integers if isinstance(meaning, Variable) else None
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                found = self.integers(inner)
                return None if found is None else frozenset(-value for value in found)
            case ast.Subscript(value=ast.Tuple(elts=parts)):
                known = [self.integers(part) for part in parts]
                return None if None in known else frozenset().union(*(part for part in known if part))
            case ast.BinOp(left=one, op=op, right=other) if type(op) in _ARITHMETIC:
                left, right = self.integers(one), self.integers(other)
                if left is None or right is None or len(left) * len(right) > _MAX_INTEGERS:
                    return None
                values = frozenset(_ARITHMETIC[type(op)](a, b) for a, b in itertools.product(left, right))
                return values if all(abs(value) <= _LARGEST for value in values) else None
        return None

    def constant(self, node: ast.expr) -> int | None:
        """Return the one integer that generated code can come to, or None."""
        found = self.integers(node)
        return next(iter(found)) if found is not None and len(found) == 1 else None

    def table(self, whole: Value, index: ast.expr, where: ast.expr) -> Value:
        """Return the element at a computed place."""
        items = self.items(whole, where)
        if items and all(isinstance(item, ast.expr) for item in items):
            entries = [self.single(item, where) for item in items]
            if any(self.integers(entry) is None for entry in entries):
                entries = [as_float(entry) for entry in entries]  # what is looked up must have one type
            looked_up = ast.copy_location(ast.Tuple(elts=entries, ctx=ast.Load()), where)
            return element(looked_up, index, where)
        rows = [item for item in items if isinstance(item, Sequence)]
        if len(rows) < len(items) or len({self.length(row, where) for row in rows}) != 1:
            raise no_number("a computed place needs elements that are alike, and one at least", where)
        found = []
        for column in zip(*(self.items(row, where) for row in rows), strict=True):
            self.tally.spend(count_nodes(index), where)
            found.append(self.table(Sequence(column), index, where))
        return Sequence(tuple(found))

    def taken_apart(self, value: Value, count: int, where: ast.expr) -> list[Value]:
        """Return the elements of a sequence for as many targets."""
        if self.length(value, where) != count:
            raise no_number(
                f"{self.length(value, where)} elements cannot be assigned to {count} names", where
            )
        return self.items(value, where)

    def _named(self, node: ast.Name) -> Value:
        meaning = self.names.get(spelled(node.id))
        if meaning is None:
            raise no_number(f"the name {node.id!r} may be read before it is assigned", node)
        if isinstance(meaning, Variable):
            return name(spelled(node.id), node)
        # One by one: what a comprehension puts in a name's place may hold itself many times.
        for expression in leaves(meaning):
            self.tally.spend(count_nodes(expression), node)
        return meaning

    def _attribute(self, node: ast.Attribute) -> Value:
        if isinstance(node.value, ast.Name) and node.value.id in ("np", "math"):
            return node
        length = literal(self.length(self.value(node.value), node), node)
        if node.attr == "shape":
            return Sequence((length,))
        return length if node.attr == "size" else literal(1, node)

    def _comprehension(self, node: ast.ListComp) -> Sequence:
        found: list[tuple[Value, list[ast.expr]]] = []
        self._collect(node, 0, [], found)
        values = self.sequence([value for value, _ in found], node)
        if not any(conditions for _, conditions in found):
            return values
        return Sequence(values.items, tuple(_joined(conditions, node) for _, conditions in found))

    def _collect(
        self,
        node: ast.ListComp,
        depth: int,
        conditions: list[ast.expr],
        found: list[tuple[Value, list[ast.expr]]],
    ) -> None:
        if depth == len(node.generators):
            for condition in conditions:
                self.tally.spend(count_nodes(condition), node)
            found.append((self.value(node.elt), conditions))
            return
        outer, generator = self.names, node.generators[depth]
        for item in self.items(self.value(generator.iter), node):
            self.names = dict(outer)
            self._put(generator.target, item, node)
            tests = [self.number(test) for test in generator.ifs]
            self._collect(node, depth + 1, [*conditions, *tests], found)
        self.names = outer

    def _put(self, target: ast.expr, item: Value, where: ast.expr) -> None:
        self.tally.spend(1, where)
        if isinstance(target, ast.Tuple | ast.List):
            parts = self.taken_apart(item, len(target.elts), where)
            for inner, part in zip(target.elts, parts, strict=True):
                self._put(inner, part, where)
        elif isinstance(target, ast.Name):
            self.names[spelled(target.id)] = item

    def _subscript(self, node: ast.Subscript) -> Value:
        whole = self.value(node.value)
        if isinstance(whole, ast.expr):
            raise no_number("a number has no elements", node)
        if isinstance(node.slice, ast.Slice):
            return self._slice(whole, node.slice, node)
        index = self.number(node.slice)
        if isinstance(index, ast.Constant) and isinstance(index.value, float):
            raise forbidden(f"an index must be an integer, not {index.value!r}", node)
        place, length = self.constant(index), self.length(whole, node)
        if whole == VECTOR and place is not None and 0 <= place < N_FEATURES:
            return self._feature(_ALL, index, place, node)
        if length == 0:
            raise no_number("an empty sequence has no elements", node)
        if place is not None and whole == VECTOR and not 0 <= place < length:
            raise forbidden(f"feature index {place} is outside 0 to {N_FEATURES - 1}", node)
        if place is not None and not -length <= place < length:
            raise forbidden(f"the index {place} is outside a sequence of {length}", node)
        if isinstance(whole, Features):
            return self._feature(whole, index, place, node)
        return self.table(whole, index, node) if place is None else whole.items[place]

    def _feature(self, part: Features, index: ast.expr, place: int | None, where: ast.expr) -> ast.expr:
        if place is not None:
            self.tally.reads([part.places[place]])
            return element(name(FEATURES, where), literal(part.places[place], where), where)
        known = self.integers(index)
        told = _ALL if part == VECTOR else part
        if known is not None and all(0 <= value < len(told.places) for value in known):
            self.tally.reads(told.places[value] for value in known)
            part = told
        else:
            self.tally.reads(None if part == VECTOR else part.places)
        vector: ast.expr = name(FEATURES, where)
        if part != _ALL:
            first, last, step = part.places.start, part.places.stop, part.places.step
            ends = [None if end < 0 else literal(end, where) for end in (first, last)]
            vector = element(vector, ast.Slice(ends[0], ends[1], literal(step, where)), where)
        return element(vector, index, where)

    def _slice(self, whole: Features | Sequence, part: ast.Slice, where: ast.expr) -> Value:
        ends: list[int | None] = []
        for end in (part.lower, part.upper, part.step):
            found = None if end is None else self.constant(self.number(end))
            if (end is not None and found is None) or (end is part.step and found == 0):
                raise no_number("the ends and the step of a slice must be constant, the step not 0", where)
            ends.append(found)
        self.length(whole, where)
        if isinstance(whole, Features):
            behind = whole == VECTOR and ends[0] is not None and ends[0] >= N_FEATURES
            return Features((_ALL if behind else whole).places[slice(*ends)])
        return Sequence(whole.items[slice(*ends)])

    def _call(self, node: ast.Call) -> Value:
        called = callee_name(node) or ""
        arguments = [self.value(argument) for argument in node.args]
        found = self.applied(called, arguments, node)
        if found is not None:
            return found
        made = call(called, [self.single(argument, node) for argument in arguments], node)
        made.keywords = [ast.keyword(word.arg, self.number(word.value)) for word in node.keywords]
        return made


def _joined(conditions: list[ast.expr], where: ast.expr) -> ast.expr:
    if len(conditions) > 1:
        return ast.copy_location(ast.BoolOp(op=ast.And(), values=conditions), where)
    return conditions[0] if conditions else literal(True, where)
