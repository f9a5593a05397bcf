"""Functions of doubles in C: those of a rule's scalar program, the same operations in the same order."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from textwrap import wrap
from typing import Final

from bife_core.errors import RuleError
from bife_core.export.clang import (
    AND,
    CHOICE,
    EQUAL,
    LIBRARY,
    OR,
    PLUS,
    RELATION,
    TIMES,
    UNARY,
    Code,
    call,
    identifier,
    number,
    words,
)
from bife_core.features import FEATURES
from bife_core.rules.checking import called_name, parameters
from bife_core.rules.language import CONSTANTS, FUNCTION_NAME, RESERVED_PREFIX
from bife_core.rules.lowering import FEATURE

_WIDTH: Final = 110

_SAME: Final = words("""
    sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh
    atanh floor ceil trunc rint fabs erf erfc hypot atan2
""")
_FUNCTIONS: Final = {
    **{f"{module}.{name}": name for module in ("np", "math") for name in _SAME},
    **{f"np.arc{name}": f"a{name}" for name in ("cos", "sin", "tan", "cosh", "sinh", "tanh", "tan2")},
    "abs": "fabs",
    "np.sign": "sign",
    "np.minimum": "np_minimum",
    "np.maximum": "np_maximum",
    "np.fmin": "np_fmin",
    "np.fmax": "np_fmax",
}
"""C functions by the names of a scalar program."""

_TESTS: Final = ("math.isnan", "math.isinf", "math.isfinite")
_SIGNS: Final[dict[type[ast.cmpop], tuple[str, int]]] = {
    ast.Gt: (">", RELATION),
    ast.GtE: (">=", RELATION),
    ast.Lt: ("<", RELATION),
    ast.LtE: ("<=", RELATION),
    ast.Eq: ("==", EQUAL),
    ast.NotEq: ("!=", EQUAL),
}
_OPERATORS: Final[dict[type[ast.operator], tuple[str, int]]] = {
    ast.Add: ("+", PLUS),
    ast.Sub: ("-", PLUS),
    ast.Mult: ("*", TIMES),
    ast.Div: ("/", TIMES),
}


def feature_constant(index: int) -> str:
    """Return the C name of a feature's place."""
    return FEATURES[index].name.upper()


def rule_in_c(functions: tuple[ast.FunctionDef, ...]) -> tuple[str, frozenset[str]]:
    """Write a scalar program in C.

    Parameters
    ----------
    functions : tuple of ast.FunctionDef
        As `bife_core.rules.checked.check_source` gives them, the scoring function first.

    Returns
    -------
    str, frozenset of str
        Its functions, the last of which is ``double score(const double* f)``, and the functions of
        `bife_core.export.clang.LIBRARY` that they call.
    """
    helpers = {function.name: f"helper_{i}" for i, function in enumerate(functions)}
    writers = [Writer(function, helpers) for function in functions]
    texts: dict[str, str] = {}

    def write(place: int) -> None:
        for called in writers[place].calls:
            if called not in texts:
                write(list(helpers).index(called))
        texts[functions[place].name] = writers[place].written()

    write(0)
    return "\n\n".join(texts.values()), frozenset(use for writer in writers for use in writer.uses)


class Writer:
    """Writes one function, all of whose variables are doubles.

    Attributes
    ----------
    spelled : dict
        C name of each variable.
    uses : set
        Functions of `bife_core.export.clang.LIBRARY` that are called.
    lines : list of str
        What is written so far.
    """

    def __init__(self, source: ast.FunctionDef, helpers: dict[str, str]) -> None:
        self.source = source
        self.uses: set[str] = set()
        self.lines: list[str] = []
        self._helpers = helpers
        called = {called_name(node) for node in ast.walk(source) if isinstance(node, ast.Call)}
        self.calls = sorted(called & helpers.keys())
        self.spelled: dict[str, str] = {}
        for name in [*parameters(source), *_assigned(source)]:
            if name not in self.spelled and not name.startswith(FEATURE):
                self.spelled[name] = identifier(name, RESERVED_PREFIX, self.spelled.values())

    def written(self) -> str:
        """Return the function."""
        own = [] if self.source.name == FUNCTION_NAME else parameters(self.source)
        given = ", ".join(f"double {self.spelled[name]}" for name in own) or "void"
        self.block(self.source.body, 1)
        if self.source.name == FUNCTION_NAME:
            unread = [] if "f[" in "".join(self.lines) else ["   (void)f;"]
            return self.function("double score(const double* f)", (), unread)
        return self.function(f"double {self._helpers[self.source.name]}({given})", own, [])

    def function(self, head: str, given: tuple[str, ...] | list[str], first: list[str]) -> str:
        """Return a function of the lines written, with its variables declared but those that are given."""
        names = [text for name, text in self.spelled.items() if name not in given]
        declared = [f"   double {', '.join(names)};"] if names else []
        body = [line for text in (*declared, *first, *self.lines) for line in folded(text)]
        return "\n".join((*folded(f"static {head}"), "{", *body, "}"))

    # --- statements ---

    def emit(self, text: str, depth: int) -> None:
        """Write a line."""
        self.lines.append("   " * depth + text)

    def block(self, statements: list[ast.stmt], depth: int) -> None:
        """Write statements, indented by `depth`."""
        for statement in statements:
            self.statement(statement, depth)

    def braced(self, body: list[ast.stmt], depth: int) -> None:
        """Write a block with its braces."""
        self.emit("{", depth)
        self.block(body, depth + 1)
        self.emit("}", depth)

    def statement(self, node: ast.stmt, depth: int) -> None:
        """Write one statement."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.emit(f"{self.spelled[name]} = {self.code(value).text};", depth)
            case ast.If():
                self._if(node, "if", depth)
            case ast.Return(value=ast.expr() as value):
                self.emit(f"return {self.code(value).text};", depth)
            case ast.Pass():
                self.emit(";", depth)
            case _:
                raise self.unknown(node)

    def _if(self, node: ast.If, word: str, depth: int) -> None:
        self.emit(f"{word}( {self.code(node.test).text} )", depth)
        self.braced(node.body, depth)
        match node.orelse:
            case [ast.If() as further]:
                self._if(further, "else if", depth)
            case [_, *_] as otherwise:
                self.emit("else", depth)
                self.braced(otherwise, depth)

    def unknown(self, node: ast.AST) -> RuleError:
        """Return the error for something that has no C here."""
        where = getattr(node, "lineno", 0)
        return RuleError(f"{self.source.name} cannot be exported: its line {where} has no counterpart in C.")

    # --- expressions ---

    def own(self, function: str, *arguments: Code) -> Code:
        """Return a call of a function of `LIBRARY` or of C's library."""
        if function in LIBRARY:
            self.uses.add(function)
        return call(function, *arguments)

    def code(self, node: ast.expr) -> Code:
        """Return an expression.

        Raises
        ------
        RuleError
            If it has no C here.
        """
        match node:
            case ast.Constant(value=bool(value)):
                return Code(str(int(value)))
            case ast.Constant(value=int() | float() as value):
                return number(value)
            case ast.Name(id=name) if name.startswith(FEATURE):
                return Code(f"f[{feature_constant(int(name.removeprefix(FEATURE)))}]")
            case ast.Name(id=name):
                return Code(self.spelled[name])
            case ast.Attribute():
                return number(CONSTANTS[ast.unparse(node)])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Code(f"!{self.code(operand).within(UNARY)}", UNARY)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                text = self.code(operand).within(UNARY)
                return Code(f"-({text})" if text.startswith("-") else f"-{text}", UNARY)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(left, op, right)
            case ast.BoolOp(op=op, values=values):
                sign, binds = ("&&", AND) if isinstance(op, ast.And) else ("||", OR)
                return Code(f" {sign} ".join(self.code(part).within(EQUAL) for part in values), binds)
            case ast.Compare():
                return self._compared(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                yes, no = self.code(body).within(OR), self.code(orelse).within(CHOICE)
                return Code(f"{self.code(test).within(OR)} ? {yes} : {no}", CHOICE)
            case ast.Call():
                return self._called(node)
        raise self.unknown(node)

    def binary(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Code:
        """Return an operation on two numbers."""
        if isinstance(op, ast.Pow):
            return self._power(left, right)
        one, other = self.code(left), self.code(right)
        if isinstance(op, ast.FloorDiv | ast.Mod):
            return self.own("floor_div" if isinstance(op, ast.FloorDiv) else "floor_mod", one, other)
        sign, binds = _OPERATORS[type(op)]
        return Code(f"{one.within(binds)} {sign} {other.within(binds + 1)}", binds)

    def _power(self, base: ast.expr, exponent: ast.expr) -> Code:
        value = self.code(base)
        if isinstance(exponent, ast.Constant) and isinstance(exponent.value, int):
            times = Code(str(exponent.value))
            return self.own("square", value) if times.text == "2" else self.own("power", value, times)
        raised = self.code(exponent)
        # As the compiler of rules has it.
        match raised.text:
            case "0.5":
                return self.own("square_root_power", value)
            case "1.0":
                return value
            case "2.0":
                return self.own("square", value)
            case "-1.0":
                return Code(f"1.0 / {value.within(UNARY)}", TIMES)
        return call("exp2", raised) if value.text == "2.0" else call("pow", value, raised)

    def _compared(self, node: ast.Compare) -> Code:
        operands = [self.code(part).within(PLUS) for part in (node.left, *node.comparators)]
        found = [
            Code(f"{one} {_SIGNS[type(op)][0]} {other}", _SIGNS[type(op)][1])
            for one, op, other in zip(operands, node.ops, operands[1:], strict=False)
        ]
        if len(found) == 1:
            return found[0]
        return Code(" && ".join(part.within(EQUAL) for part in found), AND)

    def _called(self, node: ast.Call) -> Code:
        name = called_name(node)
        arguments = [self.code(argument) for argument in node.args]
        if name in self._helpers:
            return call(self._helpers[name], *arguments)
        if name in ("min", "max"):
            first, *rest = arguments
            for part in rest:
                first = self.own(f"py_{name}", first, part)
            return first
        if name in _TESTS:
            return Code(f"{name.removeprefix('math.')}({arguments[0].text}) != 0", EQUAL)
        if name not in _FUNCTIONS:
            raise self.unknown(node)
        return self.own(_FUNCTIONS[name], *arguments)


def _assigned(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id


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
