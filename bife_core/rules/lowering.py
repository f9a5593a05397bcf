"""From a rule in normal form to a scalar program, which numba and a C compiler take alike.

A scalar program knows 64-bit floats only. Its functions take floats and return one; they assign to names, branch and
return. The scoring function takes the features the rule reads, one argument each. Loops are written out, so that every
index is an integer the text tells and no rule runs for long; truths become 1.0 or 0.0 where a number is needed.
Nothing in it raises and nothing has a side effect, so what is computed early does no harm.

`int` and `round` become functions of floats, `np.clip` a minimum of a maximum, `np.where` a choice. Every path is
followed, and a name that may be read before it is assigned is rejected: compiled code would read an arbitrary value.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Final

from bife_core.features import N_FEATURES
from bife_core.rules.checking import at, called_name, count_nodes, dotted, literal_number, parameters
from bife_core.rules.language import (
    BUILTINS,
    CONSTANTS,
    FUNCTION_NAME,
    MAX_POWER,
    MAX_WRITTEN_OUT,
    RESERVED_PREFIX,
)
from bife_core.rules.types import forbidden, no_number

FEATURE: Final = "__feature_"
"""Prefix of the scoring function's arguments, with the index behind it. No name of a rule starts with underscores."""

_VECTOR: Final = "the features"
"""What is known of a name that stands for the features as a whole."""

_Known = int | str | None
"""What is known of an assigned name: the features, the integer it holds, or None for any number."""

_LARGEST: Final = 2**31
"""Larger integers are no index."""

_ARITHMETIC: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_RENAMED: Final = {
    "math.exp2": "np.exp2",
    "math.cbrt": "np.cbrt",
    "math.floor": "np.floor",
    "math.ceil": "np.ceil",
    "math.trunc": "np.trunc",
    "int": "np.trunc",
    "round": "np.rint",
    "np.round": "np.rint",
    "np.absolute": "abs",
    "np.abs": "abs",
}
_TESTS: Final = {f"{module}.{name}" for module in ("np", "math") for name in ("isnan", "isinf", "isfinite")}
_POWERS: Final = ("pow", "math.pow", "np.power")
_ARGUMENTS: Final = {
    **dict.fromkeys((*_POWERS, "np.maximum", "np.minimum", "np.fmax", "np.fmin"), 2),
    **dict.fromkeys(("np.arctan2", "math.atan2", "np.hypot", "math.hypot"), 2),
    "np.where": 3,
    "np.clip": 3,
}
"""How many arguments a function takes, if not one."""


def lower(functions: tuple[ast.FunctionDef, ...]) -> tuple[tuple[ast.FunctionDef, ...], frozenset[int]]:
    """Write a rule out as a scalar program.

    Parameters
    ----------
    functions : tuple of ast.FunctionDef
        In normal form, the scoring function first; they are used up.

    Returns
    -------
    tuple of ast.FunctionDef, frozenset of int
        The program, in the same order, and the features its first function takes, in the order of their indices.

    Raises
    ------
    RejectionError
        If something is no number where one is needed, an index is not constant or out of range, a name may be read too
        early, a function calls itself, or the program would be too long.
    """
    program = _Program(functions)
    lowered = [_Function(program, function).lowered() for function in functions]
    _measure({function.name: function for function in lowered})
    lowered[0].args.args = [ast.arg(arg=f"{FEATURE}{index}") for index in sorted(program.features)]
    for function in lowered:
        ast.fix_missing_locations(function)
    return tuple(lowered), frozenset(program.features)


def _measure(functions: dict[str, ast.FunctionDef]) -> None:
    """Reject a function that calls itself, or is too long with its helpers wherever they are called."""
    sizes: dict[str, int] = {}

    def size(name: str, path: tuple[str, ...]) -> int:
        function = functions[name]
        if name in path:
            raise forbidden("the function in this line calls itself", function)
        if name not in sizes:
            calls = (called_name(node) for node in ast.walk(function) if isinstance(node, ast.Call))
            helpers = sum(size(called, (*path, name)) for called in calls if called in functions)
            sizes[name] = count_nodes(function) + helpers
            if sizes[name] > MAX_WRITTEN_OUT:
                raise _too_large(function)
        return sizes[name]

    size(FUNCTION_NAME, ())


def _too_large(where: ast.AST) -> Exception:
    what = "with its helpers and loops written out, the rule"
    return forbidden(f"{what} has more than {MAX_WRITTEN_OUT} syntax nodes", where)


class _Program:
    """What all functions of a rule share: their generated names, the features they read, how long they are."""

    def __init__(self, functions: tuple[ast.FunctionDef, ...]) -> None:
        self.names = {function.name: f"__helper_{i}" for i, function in enumerate(functions)}
        self.names[FUNCTION_NAME] = FUNCTION_NAME
        self.features: set[int] = set()
        self._nodes = 0

    def spend(self, where: ast.AST) -> None:
        """Count one syntax node as written out."""
        self._nodes += 1
        if self._nodes > MAX_WRITTEN_OUT:
            raise _too_large(where)


class _Function:
    def __init__(self, program: _Program, function: ast.FunctionDef) -> None:
        self._program = program
        self._source = function
        self._main = function.name == FUNCTION_NAME
        self._known: dict[str, _Known] = dict.fromkeys(parameters(function), _VECTOR if self._main else None)
        self._out: list[ast.stmt] = []
        self._temporaries = 0

    def lowered(self) -> ast.FunctionDef:
        source = self._source
        arguments = [ast.arg(arg=_spelled(name)) for name in parameters(source)]
        body, runs_on = self._block(source.body)
        if runs_on:
            what = "the scoring function" if self._main else f"the helper {source.name!r}"
            raise no_number(f"{what} can end without returning a number", source)
        source.name = self._program.names[source.name]
        source.body = body
        source.args = ast.arguments(
            posonlyargs=[], args=arguments, kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        source.returns = None
        return source

    # --- statements ---

    def _block(self, statements: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """Return statements written out, and whether control can run past them; what it cannot reach is left out."""
        outer, self._out = self._out, []
        runs_on = self._statements(statements)
        block, self._out = self._out, outer
        return block or [ast.Pass()], runs_on

    def _statements(self, statements: list[ast.stmt]) -> bool:
        return all(self._statement(statement) for statement in statements)

    def _statement(self, node: ast.stmt) -> bool:
        self._program.spend(node)
        match node:
            case ast.Return(value=ast.expr() as value):
                self._emit(ast.Return(value=self.number(value)), node)
                return False
            case ast.If():
                return self._if(node)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=ends)):
                for counter in self._range(ends, node):
                    self._assign([(name, at(node, ast.Constant(value=counter)))], node)
                    if not self._statements(node.body):
                        return False
            case ast.Assign(value=ast.Tuple(elts=values)):
                for target in node.targets:
                    assert isinstance(target, ast.Tuple)
                    names = [name.id for name in target.elts if isinstance(name, ast.Name)]
                    self._assign(list(zip(names, values, strict=True)), node)
            case ast.Assign():
                value = node.value
                for target in node.targets:
                    assert isinstance(target, ast.Name)
                    self._assign([(target.id, value)], node)
                    value = at(node, ast.Name(id=target.id, ctx=ast.Load()))
        return True

    def _emit(self, made: ast.stmt, where: ast.AST) -> None:
        self._out.append(at(where, made))

    def _assign(self, pairs: list[tuple[str, ast.expr]], where: ast.AST) -> None:
        """Assign values to names, all of them computed before the first is assigned."""
        known: dict[str, _Known] = {}
        found: list[tuple[str, ast.expr]] = []
        for name, value in pairs:
            known[name] = self._meaning(value)
            if known[name] != _VECTOR:
                number = self.number(value)
                found.append((_spelled(name), number if len(pairs) == 1 else self._kept(number)))
        for text, number in found:
            self._emit(ast.Assign(targets=[ast.Name(id=text, ctx=ast.Store())], value=number), where)
        self._known |= known

    def _kept(self, number: ast.expr) -> ast.expr:
        """Return a number that can be read several times, and later, at the price of one computation."""
        if isinstance(number, ast.Constant) or (
            isinstance(number, ast.Name) and number.id.startswith(FEATURE)
        ):
            return number
        self._temporaries += 1
        text = f"__{self._temporaries}"
        self._emit(ast.Assign(targets=[ast.Name(id=text, ctx=ast.Store())], value=number), number)
        return at(number, ast.Name(id=text, ctx=ast.Load()))

    def _if(self, node: ast.If) -> bool:
        test = self.truth(node.test)
        before = dict(self._known)
        body, body_runs_on = self._block(node.body)
        after_body, self._known = self._known, before
        orelse, orelse_runs_on = self._block(node.orelse)
        if body_runs_on:
            self._known = _met(after_body, self._known) if orelse_runs_on else after_body
        self._emit(ast.If(test=test, body=body, orelse=orelse if node.orelse else []), node)
        return body_runs_on or orelse_runs_on

    def _range(self, ends: list[ast.expr], where: ast.AST) -> range:
        known = [self._integer(end) for end in ends]
        integers = [end for end in known if end is not None]
        if len(integers) < len(known) or integers[2:] == [0]:
            raise no_number("the ends of a range must be constant integers, and its step not 0", where)
        return range(*integers)

    # --- what the text tells ---

    def _meaning(self, node: ast.expr) -> _Known:
        if isinstance(node, ast.Name) and self._known.get(node.id) == _VECTOR:
            return _VECTOR
        return self._integer(node)

    def _integer(self, node: ast.expr) -> int | None:
        """Return the integer an expression is known to be, or None."""
        match node:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return value
            case ast.Name(id=name):
                known = self._known.get(name)
                return known if isinstance(known, int) else None
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                positive = self._integer(inner)
                return None if positive is None else -positive
            case ast.BinOp(left=one, op=op, right=other) if type(op) in _ARITHMETIC:
                left, right = self._integer(one), self._integer(other)
                if left is not None and right is not None:
                    value = _ARITHMETIC[type(op)](left, right)
                    return value if abs(value) <= _LARGEST else None
        return None

    def _feature(self, node: ast.Subscript) -> ast.expr:
        if not isinstance(node.value, ast.Name) or self._known.get(node.value.id, _VECTOR) != _VECTOR:
            raise no_number("a number has no elements", node)
        self._read(node.value)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, float):
            raise forbidden(f"an index must be an integer, not {node.slice.value!r}", node)
        index = self._integer(node.slice)
        if index is None:
            raise no_number("the index of a feature must be a constant integer", node)
        if not 0 <= index < N_FEATURES:
            raise forbidden(f"feature index {index} is outside 0 to {N_FEATURES - 1}", node)
        self._program.features.add(index)
        return at(node, ast.Name(id=f"{FEATURE}{index}", ctx=ast.Load()))

    def _read(self, node: ast.Name) -> _Known:
        if node.id not in self._known:
            raise no_number(f"the name {node.id!r} may be read before it is assigned", node)
        return self._known[node.id]

    # --- expressions ---

    def number(self, node: ast.expr) -> ast.expr:
        """Return code for the number an expression comes to."""
        self._program.spend(node)
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return at(node, ast.Constant(value=float(value)))
            case ast.Name(id=name):
                if self._read(node) == _VECTOR:
                    raise no_number("one number is needed here, such as variable_features[20]", node)
                return at(node, ast.Name(id=_spelled(name), ctx=ast.Load()))
            case ast.Attribute():
                return at(node, ast.Constant(value=CONSTANTS[ast.unparse(node)]))
            case ast.Subscript():
                return self._feature(node)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.number(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return at(node, ast.UnaryOp(op=ast.USub(), operand=self.number(operand)))
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(left, op, right, node)
            case ast.BoolOp(op=op, values=values) if not all(map(_is_truth, values)):
                # Python's `or` and `and` return one of their operands.
                *first, result = [self._kept(self.number(operand)) for operand in values]
                for operand in reversed(first):
                    test = _not_zero(operand)
                    yes, no = (result, operand) if isinstance(op, ast.And) else (operand, result)
                    result = at(node, ast.IfExp(test=test, body=yes, orelse=no))
                return result
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choice(test, body, orelse, node)
            case ast.Call() if not _is_truth(node):
                return self._call(node)
        one, zero = ast.Constant(value=1.0), ast.Constant(value=0.0)
        return at(node, ast.IfExp(test=self.truth(node), body=one, orelse=zero))

    def truth(self, node: ast.expr) -> ast.expr:
        """Return code for the truth an expression comes to: a comparison, or several joined."""
        self._program.spend(node)
        match node:
            case ast.Constant(value=bool()):
                return node
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return at(node, ast.UnaryOp(op=ast.Not(), operand=self.truth(operand)))
            case ast.BoolOp(op=op, values=values):
                return at(node, ast.BoolOp(op=op, values=[self.truth(value) for value in values]))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                numbers = [self.number(part) for part in comparators]
                return at(node, ast.Compare(left=self.number(left), ops=ops, comparators=numbers))
            case ast.Call() if _is_truth(node):
                _expect(node, 1)
                name = called_name(node)
                if name == "bool":
                    return self.truth(node.args[0])
                return self._apply(name.replace("np.", "math."), node.args, node)
        return _not_zero(self.number(node))

    def _operation(self, left: ast.expr, op: ast.operator, right: ast.expr, where: ast.expr) -> ast.expr:
        if isinstance(op, ast.Pow):
            given = literal_number(right)
            if isinstance(given, int):
                # Repeated multiplication, which numba writes out for an integer exponent.
                power: float = given if 0 <= given <= MAX_POWER else float(given)
                exponent: ast.expr = at(right, ast.Constant(value=power))
            else:
                exponent = self.number(right) if given is None else at(right, ast.Constant(value=given))
            return at(where, ast.BinOp(left=self.number(left), op=op, right=exponent))
        return at(where, ast.BinOp(left=self.number(left), op=op, right=self.number(right)))

    def _choice(self, test: ast.expr, yes: ast.expr, no: ast.expr, where: ast.expr) -> ast.expr:
        return at(where, ast.IfExp(test=self.truth(test), body=self.number(yes), orelse=self.number(no)))

    def _apply(self, name: str, arguments: list[ast.expr], where: ast.expr) -> ast.Call:
        given = [self.number(argument) for argument in arguments]
        return at(where, ast.Call(func=dotted(name, where), args=given, keywords=[]))

    def _call(self, node: ast.Call) -> ast.expr:
        name, arguments = called_name(node), node.args
        if name in self._program.names:
            return self._apply(self._program.names[name], arguments, node)
        if name in ("min", "max"):
            if len(arguments) < 2:
                raise forbidden(f"{name} takes two numbers or more, and no sequence", node)
            return self._apply(name, arguments, node)
        if name == "math.log" and len(arguments) == 2:
            one, base = (self._apply(name, [argument], node) for argument in arguments)
            return at(node, ast.BinOp(left=one, op=ast.Div(), right=base))
        _expect(node, _ARGUMENTS.get(name, 1))
        if name in _POWERS:
            return self._operation(arguments[0], ast.Pow(), arguments[1], node)
        if name == "np.square":
            return self._operation(arguments[0], ast.Pow(), at(node, ast.Constant(value=2)), node)
        if name == "np.where":
            return self._choice(arguments[0], arguments[1], arguments[2], node)
        if name == "np.clip":
            raised = at(node, ast.Call(func=dotted("np.maximum", node), args=arguments[:2], keywords=[]))
            return self._apply("np.minimum", [raised, arguments[2]], node)
        if name in ("float", "np.float64"):
            return self.number(arguments[0])
        return self._apply(_RENAMED.get(name, name), arguments, node)


def _spelled(name: str) -> str:
    """Return a rule's name as generated code spells it, so that it hides none of the words generated code uses."""
    return RESERVED_PREFIX + name if name in BUILTINS else name


def _is_truth(node: ast.expr) -> bool:
    """Tell whether an expression is a comparison or a like truth by its form."""
    match node:
        case ast.Compare() | ast.Constant(value=bool()) | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp(values=values):
            return all(map(_is_truth, values))
        case ast.Call():
            return called_name(node) in ("bool", *_TESTS)
    return False


def _not_zero(number: ast.expr) -> ast.expr:
    return at(number, ast.Compare(left=number, ops=[ast.NotEq()], comparators=[ast.Constant(value=0.0)]))


def _expect(node: ast.Call, count: int) -> None:
    if len(node.args) != count:
        plural = "argument" if count == 1 else "arguments"
        raise forbidden(f"{called_name(node)} takes {count} {plural} here", node)


def _met(one: dict[str, _Known], other: dict[str, _Known]) -> dict[str, _Known]:
    """Return what is known where two paths meet."""
    met: dict[str, _Known] = {}
    for name in one.keys() & other.keys():
        if one[name] == other[name]:
            met[name] = one[name]
        elif _VECTOR not in (one[name], other[name]):
            met[name] = None
    return met
