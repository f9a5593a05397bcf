"""Functions of a rule's scalar program, in C: statements, the kinds of variables, helpers for the kinds they meet."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from bife_core.errors import RuleError
from bife_core.export.clang import C_TYPES, PLUS, Code, Kind, call, cast, identifier, joined, number, truth
from bife_core.export.statements import Statements, folded
from bife_core.rules.language import FUNCTION_NAME, RESERVED_PREFIX
from bife_core.rules.nodes import callee_name


@dataclass
class Written:
    """A function in C.

    Attributes
    ----------
    text : str
    kind : {"flag", "whole", "real"}
        What it returns.
    uses : set of str
        Functions of the library it calls.
    calls : list of Written
        Helpers it calls.
    """

    text: str = ""
    kind: Kind = "real"
    uses: set[str] = field(default_factory=set)
    calls: list[Written] = field(default_factory=list)

    def order(self) -> list[Written]:
        """Return the function after all those it calls, each once."""
        found: list[Written] = []
        for inner in (part for called in self.calls for part in called.order()):
            if all(inner is not known for known in found):
                found.append(inner)
        return [*found, self]


@dataclass(frozen=True)
class RuleInC:
    """A rule's arithmetic.

    Attributes
    ----------
    text : str
        Its functions, the last of which is ``double score(const double* f)``, or with ``int* failed`` behind `f`.
    uses : frozenset of str
        Functions of `bife_core.export.clang.LIBRARY` it needs.
    may_fail : bool
        Whether `score` takes ``failed``: it sets it where the rule raises.
    """

    text: str
    uses: frozenset[str]
    may_fail: bool


def rule_in_c(functions: tuple[ast.FunctionDef, ...]) -> RuleInC:
    """Write a scalar program in C.

    Parameters
    ----------
    functions : tuple of ast.FunctionDef
        As `bife_core.rules.checked.check_source` gives them, the scoring function first.

    Raises
    ------
    RuleError
        If something in it has no counterpart in C.
    """
    program = _Program(functions)
    ordered = program.written(FUNCTION_NAME, ()).order()
    return RuleInC(
        "\n\n".join(one.text for one in ordered),
        frozenset(use for one in ordered for use in one.uses),
        program.may_fail,
    )


def _raises(node: ast.AST) -> bool:
    match node:
        case ast.Call():
            return callee_name(node) == f"{RESERVED_PREFIX}to_int"
        case ast.Subscript(slice=ast.Constant() | ast.Slice()):
            return False
        case ast.Subscript():
            return True
        case ast.For(iter=ast.Call(args=[_, _, step])):
            return not _is_constant(step)
    return False


def _is_constant(node: ast.expr) -> bool:
    try:
        return isinstance(ast.literal_eval(node), int)
    except ValueError:
        return False


class _Program:
    def __init__(self, functions: tuple[ast.FunctionDef, ...]) -> None:
        self.functions = {function.name: function for function in functions}
        self.may_fail = any(_raises(node) for function in functions for node in ast.walk(function))
        self._known: dict[tuple[str, tuple[Kind, ...]], Written] = {}
        self._c_names: dict[tuple[str, tuple[Kind, ...]], str] = {}

    def c_name(self, name: str, kinds: tuple[Kind, ...]) -> str:
        if name == FUNCTION_NAME:
            return "score"
        return self._c_names.setdefault((name, kinds), f"helper_{len(self._c_names) + 1}")

    def written(self, name: str, kinds: tuple[Kind, ...]) -> Written:
        """Return a function for arguments of these kinds: as numba does, one for each combination that is met."""
        key = (name, kinds)
        if key not in self._known:
            self._known[key] = _Function(self, self.functions[name], kinds).written()
        return self._known[key]


class _Function(Statements):
    def __init__(self, program: _Program, source: ast.FunctionDef, kinds: tuple[Kind, ...]) -> None:
        self.program = program
        self.source = source
        self.arguments = [argument.arg for argument in source.args.args[1:]]
        self.given = dict(zip(self.arguments, kinds, strict=True))
        spelled: dict[str, str] = {}
        for name in [*self.arguments, *_assigned(source)]:
            if name not in spelled:
                spelled[name] = identifier(name, RESERVED_PREFIX, spelled.values())
        super().__init__(dict(self.given), spelled)
        self.returns: list[Kind] = []
        self.result: Kind = "real" if source.name == FUNCTION_NAME else "flag"
        self.calls: list[Written] = []
        self.saved = 0

    def written(self) -> Written:
        while True:  # until no assignment shows a variable to be of a wider kind than it was taken for
            before = dict(self.kinds), self.result
            self.uses.clear()
            self.calls.clear()
            self.lines.clear()
            self.saved = 0
            self._block(self.source.body, 1)
            if (dict(self.kinds), self.result) == before:
                break
        name = self.program.c_name(self.source.name, tuple(self.given[one] for one in self.arguments))
        parameters = [f"{C_TYPES[self.kinds[one]]} {self.spelled[one]}" for one in self.arguments]
        head = ", ".join(
            ("const double* f", *(["int* failed"] if self.program.may_fail else []), *parameters)
        )
        unread = [] if name == "score" or "f[" in "".join(self.lines) else ["   (void)f;"]
        if self.program.may_fail and "failed" not in "".join(self.lines):
            unread.append("   (void)failed;")
        body = [
            line for text in (*self._declared(self.arguments), *unread, *self.lines) for line in folded(text)
        ]
        text = "\n".join((f"static {C_TYPES[self.result]} {name}({head})", "{", *body, "}"))
        return Written(text, self.result, set(self.uses), list(self.calls))

    def helper(self, name: str, arguments: list[ast.expr]) -> Code | None:
        if name not in self.program.functions:
            return None
        given = [self.code(argument) for argument in arguments[1:]]
        kinds = tuple(one.kind for one in given)
        found = self.program.written(name, kinds)
        self.calls.append(found)
        first = [Code("f", "real"), *([Code("failed", "whole")] if self.program.may_fail else [])]
        return call(self.program.c_name(name, kinds), *first, *given, kind=found.kind)

    def _statement(self, node: ast.stmt, depth: int) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                self._swap(targets, values, depth)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._assign(name, self.code(value), depth)
            case ast.If():
                self._if(node, "if", depth)
            case ast.While(test=test, body=body):
                self._emit(f"while( {truth(self.code(test)).text} )", depth)
                self._loop(body, depth)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=ends), body=body):
                self._for(name, ends, body, depth)
            case ast.Return(value=ast.expr() as value):
                found = self.code(value)
                self.result = joined((self.result, found.kind))
                self._emit(f"return {cast(found, self.result).text};", depth)
            case ast.Expr(value=value):
                self._emit(f"(void)({self.code(value).text});", depth)
            case ast.Break():
                self._emit("break;", depth)
            case ast.Continue():
                self._emit("continue;", depth)
            case ast.Pass():
                self._emit(";", depth)
            case _:
                raise RuleError(f"The rule cannot be exported: line {node.lineno} has no counterpart in C.")

    def _loop(self, body: list[ast.stmt], depth: int) -> None:
        self._emit("{", depth)
        if self.program.may_fail:  # what has failed computes on with any number, perhaps for ever
            self._emit("if( *failed )", depth + 1)
            self._emit("return 0;", depth + 2)
        self._block(body, depth + 1)
        self._emit("}", depth)

    def _swap(self, targets: list[ast.expr], values: list[ast.expr], depth: int) -> None:
        found = [self.code(value) for value in values]
        self._emit("{", depth)
        for place, value in enumerate(found):
            self._emit(f"const {C_TYPES[value.kind]} new{place} = {value.text};", depth + 1)
        for place, (target, value) in enumerate(zip(targets, found, strict=True)):
            assert isinstance(target, ast.Name)
            self._assign(target.id, Code(f"new{place}", value.kind), depth + 1)
        self._emit("}", depth)

    def _for(self, name: str, ends: list[ast.expr], body: list[ast.stmt], depth: int) -> None:
        given = [cast(self.code(end), "whole") for end in ends]
        start = given[0] if len(given) > 1 else number(0)
        stop = given[1] if len(given) > 1 else given[0]
        self.kinds[name] = "whole"
        counter = self.spelled[name]
        self._emit("{", depth)
        if not _is_constant(ends[min(1, len(ends) - 1)]):
            self.saved += 1
            self._emit(f"const int64_t end{self.saved} = {stop.text};", depth + 1)
            stop = Code(f"end{self.saved}", "whole")
        step = given[2] if len(given) == 3 else number(1)
        if len(given) == 3 and not _is_constant(ends[2]):
            self._emit(f"const int64_t step = {step.text};", depth + 1)
            self._emit("if( step == 0 )", depth + 1)
            self._emit("*failed = 1;", depth + 2)
            test, move = f"step > 0 ? {counter} < {stop.text} : {counter} > {stop.text}", f"{counter} += step"
        else:
            stride = 1 if len(given) < 3 else int(ast.literal_eval(ends[2]))
            test = f"{counter} {'<' if stride > 0 else '>'} {stop.within(PLUS)}"
            move = f"++{counter}" if stride == 1 else f"{counter} += {stride}"
        self._emit(f"for( {counter} = {start.text}; {test}; {move} )", depth + 1)
        self._loop(body, depth + 1)
        self._emit("}", depth)


def _assigned(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
