"""From a rule in normal form to a scalar program: sequences are syntax, and syntax ends here.

What comes out knows numbers, the feature vector behind a computed index, and lookups in tables of numbers; no list,
tuple or range is ever a value. A name that holds a sequence stands for names of its elements, a comprehension is
written out, and a loop over a sequence is a loop over its places. Every path is followed, so that a name that may be
read before it is assigned is found here as well: compiled code would read an arbitrary value.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from bife_core.rules.checking import parameters
from bife_core.rules.expressions import (
    FEATURES,
    VECTOR,
    Expressions,
    Meaning,
    Tally,
    Variable,
    spelled,
    too_large,
)
from bife_core.rules.language import FUNCTION_NAME, MAX_LOOPS, MAX_SEQUENCE, MAX_WRITTEN_OUT, RESERVED_PREFIX
from bife_core.rules.nodes import call, callee_name, element, function, literal, name
from bife_core.rules.parsing import count_nodes
from bife_core.rules.reductions import REDUCTIONS
from bife_core.rules.rejections import forbidden, no_number
from bife_core.rules.sequences import Features, Sequence, Value


@dataclass(frozen=True)
class ScalarProgram:
    """A rule without sequences.

    Attributes
    ----------
    functions : tuple of ast.FunctionDef
        The scoring function first. Each takes the feature vector before its own arguments.
    features : frozenset of int or None
        Columns it reads; None when an index is computed.
    """

    functions: tuple[ast.FunctionDef, ...]
    features: frozenset[int] | None


def unroll(functions: tuple[ast.FunctionDef, ...]) -> ScalarProgram:
    """Write a rule out as a scalar program.

    Parameters
    ----------
    functions : tuple of ast.FunctionDef
        In normal form and lowered, the scoring function first; none calls itself.

    Raises
    ------
    RejectionError
        If something is a sequence where a number is needed, an index is constant and out of range, a name may be read
        too early, or the program would be too long.
    """
    program = _Program({function.name: function for function in functions})
    program.made(FUNCTION_NAME, (True,))
    return ScalarProgram(tuple(reversed(program.functions)), program.tally.features)


class _Program:
    """The functions made so far, those that are called before those that call them."""

    def __init__(self, written: dict[str, ast.FunctionDef]) -> None:
        self.written = written
        self.tally = Tally()
        self.functions: list[ast.FunctionDef] = []
        self._names: dict[object, str] = {}
        self._sizes: dict[str, int] = {}

    def made(self, called: str, vectors: tuple[bool, ...]) -> str:
        """Return the name of a function made for the feature vector in these of its arguments."""
        key = (called, vectors)
        if key not in self._names:
            made = _Function(self, self.written[called], vectors).written_out()
            if called != FUNCTION_NAME:
                made.name = f"{RESERVED_PREFIX}function_{len(self.functions)}"
            calls = (callee_name(node) for node in ast.walk(made) if isinstance(node, ast.Call))
            size = count_nodes(made) + sum(self._sizes.get(helper or "", 0) for helper in calls)
            if size > MAX_WRITTEN_OUT:
                raise too_large(made)
            self.functions.append(made)
            self._names[key], self._sizes[made.name] = made.name, size
        return self._names[key]


class _Function(Expressions):
    """Writes one function out, where the given arguments are the feature vector and the others numbers."""

    def __init__(self, program: _Program, written: ast.FunctionDef, vectors: tuple[bool, ...]) -> None:
        own = [spelled(parameter) for parameter in parameters(written)]
        meanings = (VECTOR if vector else Variable() for vector in vectors)
        super().__init__(program.tally, dict(zip(own, meanings, strict=True)))
        self._program = program
        self._written = written
        self._arguments = [text for text in own if isinstance(self.names[text], Variable)]
        self._stores = Counter(_stored(written))
        self._out: list[ast.stmt] = []
        self._temporaries = 0
        self._loops = 0

    def written_out(self) -> ast.FunctionDef:
        """Return the function as one of a scalar program."""
        body, runs_on = self._block(self._written.body)
        if runs_on:
            main = self._written.name == FUNCTION_NAME
            what = "the scoring function" if main else f"the helper {self._written.name!r}"
            raise no_number(f"{what} can end without returning a number", self._written)
        made = function(self._written.name, [FEATURES, *self._arguments], body, self._written)
        if not any(isinstance(node, ast.Return) for node in ast.walk(made)):
            raise no_number("no path of the function leads to a number", self._written)
        return made

    def applied(self, called: str, arguments: list[Value], node: ast.Call) -> Value | None:
        """Return what a function of the rule or of sequences comes to; None for a function of numbers."""
        if called in self._program.written:
            vectors = tuple(argument == VECTOR for argument in arguments)
            given = [argument for argument in arguments if isinstance(argument, ast.expr)]
            if len(given) + sum(vectors) < len(arguments):
                raise no_number(
                    "a helper takes numbers, and the features as a whole, but no other sequence", node
                )
            return call(self._program.made(called, vectors), [name(FEATURES, node), *given], node)
        reduction = REDUCTIONS.get(called)
        if reduction is None or (called in ("min", "max") and len(arguments) > 1):
            return None
        return reduction(self, arguments, node)

    def _block(self, statements: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """Return statements written out, and whether control can run past them; what it cannot reach is left out."""
        outer, self._out = self._out, []
        runs_on = True
        for statement in statements:
            if not runs_on:
                break
            runs_on = self._statement(statement)
        block, self._out = self._out, outer
        return block or [ast.Pass()], runs_on

    def _statement(self, node: ast.stmt) -> bool:
        self.tally.spend(1, node)
        match node:
            case ast.Assign():
                value = self.value(node.value)
                for target in node.targets:
                    value = self._store(target, value, node)
            case ast.If():
                return self._if(node)
            case ast.For():
                self._for(node)
            case ast.While():
                return self._while(node)
            case ast.Return():
                assert node.value is not None
                value = self.value(node.value)
                if not isinstance(value, ast.expr):
                    raise no_number("the function returns a sequence; a score must be one number", node)
                self._emit(ast.Return(value=value), node)
                return False
            case ast.Expr():
                value = self.value(node.value)
                if isinstance(value, ast.expr):
                    self._emit(ast.Expr(value=value), node)
            case ast.Break() | ast.Continue():
                self._emit(node, node)
                return False
        return True

    def _emit(self, made: ast.stmt, where: ast.stmt) -> None:
        self._out.append(ast.fix_missing_locations(ast.copy_location(made, where)))

    def _temporary(self, where: ast.AST) -> ast.Name:
        self._temporaries += 1
        return name(f"{RESERVED_PREFIX}{self._temporaries}", where)

    # --- assignment ---

    def _store(self, target: ast.expr, value: Value, where: ast.stmt) -> Value:
        """Assign a value, and return it as it can be read again."""
        pairs: list[tuple[str, ast.expr]] = []
        stored = self._planned(target, value, pairs)
        self._assign(pairs, where)
        return stored

    def _assign(self, pairs: list[tuple[str, ast.expr]], where: ast.stmt) -> None:
        meanings = {text: Variable(self.integers(expression)) for text, expression in pairs}
        read = {node.id for _, value in pairs for node in ast.walk(value) if isinstance(node, ast.Name)}
        targets: list[ast.expr] = [ast.Name(id=text, ctx=ast.Store()) for text, _ in pairs]
        values = [expression for _, expression in pairs]
        if len(pairs) > 1 and not read.isdisjoint(meanings):  # as in `a, b = b, a`
            targets = [ast.Tuple(elts=targets, ctx=ast.Store())]
            values = [ast.Tuple(elts=values, ctx=ast.Load())]
        for one, expression in zip(targets, values, strict=True):
            self._emit(ast.Assign(targets=[one], value=expression), where)
        self.names |= meanings

    def _planned(self, target: ast.expr, value: Value, pairs: list[tuple[str, ast.expr]]) -> Value:
        if isinstance(target, ast.Tuple | ast.List):
            parts = zip(target.elts, self.taken_apart(value, len(target.elts), target), strict=True)
            return Sequence(tuple(self._planned(inner, part, pairs) for inner, part in parts))
        assert isinstance(target, ast.Name)
        own = spelled(target.id)
        is_number = isinstance(value, ast.expr)
        if (self._stores[own] > 1 and not is_number) or isinstance(self.names.get(own), Features | Sequence):
            raise no_number(
                f"the name {target.id!r} holds a sequence, so it can be assigned only once", target
            )
        if isinstance(value, ast.expr):
            pairs.append((own, value))
            return name(own, target)
        self.names[own] = stored = self._kept(value, pairs, target)
        return stored

    def _kept(self, value: Value, pairs: list[tuple[str, ast.expr]], where: ast.expr) -> Value:
        """Return a sequence as its name keeps it, with the numbers it has now."""
        self.tally.spend(1, where)
        match value:
            case Features() | ast.Constant():
                return value
            case ast.Subscript(value=ast.Name(id=text), slice=ast.Constant()) if text == FEATURES:
                return value
            case Sequence(items, conditions):
                tests = None if conditions is None else tuple(self._saved(test, pairs) for test in conditions)
                return Sequence(tuple(self._kept(item, pairs, where) for item in items), tests)
        return self._saved(value, pairs)

    def _saved(self, value: ast.expr, pairs: list[tuple[str, ast.expr]]) -> ast.expr:
        temporary = self._temporary(value)
        pairs.append((temporary.id, value))
        return temporary

    # --- control ---

    def _if(self, node: ast.If) -> bool:
        test = self.number(node.test)
        before = dict(self.names)
        body, body_runs_on = self._block(node.body)
        after_body, self.names = self.names, before
        orelse, orelse_runs_on = self._block(node.orelse)
        if body_runs_on:
            self.names = _met(after_body, self.names) if orelse_runs_on else after_body
        self._emit(ast.If(test=test, body=body, orelse=orelse if node.orelse else []), node)
        return body_runs_on or orelse_runs_on

    def _while(self, node: ast.While) -> bool:
        head = self._enter(node)
        test = self.number(node.test)
        body, _ = self._block(node.body)
        self._leave(head)
        self._emit(ast.While(test=test, body=body, orelse=[]), node)
        return not _endless(node)

    def _for(self, node: ast.For) -> None:
        place = self._temporary(node.iter)
        value: Value = place
        if isinstance(node.iter, ast.Call) and callee_name(node.iter) == "range":
            ends = [self.number(end) for end in node.iter.args]
        else:
            value = self.value(node.iter)
            if self.length(value, node.iter) == 0:
                return
            if isinstance(value, Features):
                self.tally.reads(value.places)
                places = value.places
            else:
                pairs: list[tuple[str, ast.expr]] = []
                value = self._kept(value, pairs, node.iter)
                self._assign(pairs, node)
                places = range(self.length(value, node.iter))
            ends = [literal(end, node.iter) for end in (places.start, places.stop, places.step)]
        if not 1 <= len(ends) <= 3:
            raise forbidden("range takes one to three numbers", node.iter)
        known = [end for end in map(self.constant, ends) if end is not None]
        fixed = len(known) == len(ends) and known[2:] != [0] and len(range(*known)) <= MAX_SEQUENCE
        head = self._enter(node)
        self.names[place.id] = Variable(frozenset(range(*known)) if fixed else None)
        outer, self._out = self._out, []
        if isinstance(value, Features):
            item: Value = element(name(FEATURES, node.iter), place, node.iter)
        else:
            item = place if value is place else self.table(value, place, node.iter)
        self._store(node.target, item, node)
        first, self._out = self._out, outer
        body, _ = self._block(node.body)
        self._leave(head)
        counter = ast.Name(id=place.id, ctx=ast.Store())
        rounds = call("range", ends, node.iter)
        self._emit(ast.For(target=counter, iter=rounds, body=[*first, *body], orelse=[]), node)

    def _enter(self, loop: ast.For | ast.While) -> dict[str, Meaning]:
        """Forget what the body of a loop may change, and return what is known wherever it begins or ends."""
        self._loops += 1
        if self._loops > MAX_LOOPS:
            raise forbidden(f"loops are nested more than {MAX_LOOPS} levels deep", loop)
        for own in _stored(loop):
            if isinstance(self.names.get(own), Variable):
                self.names[own] = Variable()
        return dict(self.names)

    def _leave(self, head: dict[str, Meaning]) -> None:
        self.names = head
        self._loops -= 1


def _stored(node: ast.AST) -> Iterator[str]:
    """Yield the names a statement assigns, by their generated spelling; those of comprehensions are their own."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield spelled(node.id)
    elif not isinstance(node, ast.ListComp):
        for inner in ast.iter_child_nodes(node):
            yield from _stored(inner)


def _met(one: dict[str, Meaning], other: dict[str, Meaning]) -> dict[str, Meaning]:
    """Return what is known where two paths meet."""
    met: dict[str, Meaning] = {}
    for text in one.keys() & other.keys():
        left, right = one[text], other[text]
        met[text] = left
        if isinstance(left, Variable) and isinstance(right, Variable):
            known = left.integers is not None and right.integers is not None
            met[text] = Variable(left.integers | right.integers if known else None)  # type: ignore[operator]
    return met


def _endless(loop: ast.While) -> bool:
    """Tell whether a loop is left by return only: `while True` without a break."""
    return isinstance(loop.test, ast.Constant) and bool(loop.test.value) and not _breaks(loop.body)


def _breaks(statements: list[ast.stmt]) -> bool:
    for statement in statements:
        if isinstance(statement, ast.Break):
            return True
        if isinstance(statement, ast.If) and (_breaks(statement.body) or _breaks(statement.orelse)):
            return True
    return False
