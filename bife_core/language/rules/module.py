"""A rule's text as a module: its imports, constants and functions."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from bife_core.language.components import BRANCHING, COMPONENTS, Component
from bife_core.language.rules.language import (
    BUILTINS,
    CONSTANTS,
    FUNCTIONS,
    MAX_DEPTH,
    MAX_FUNCTIONS,
    MAX_INTEGER,
    MAX_NODES,
    MAX_SOURCE_CHARACTERS,
)
from bife_core.language.rules.types import RejectionError, RejectionKind, forbidden
from bife_core.language.syntax import syntax_tree

_MODULES: Final = {"numpy": "np", "math": "math"}
_NOTHING: Final[Mapping[str, object]] = {}
_EXACT: Final = (ast.Add, ast.Sub, ast.Mult)  # operators that give an integer for two integers
OPERATORS: Final[Mapping[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
}

COMPARISONS: Final[Mapping[type[ast.AST], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def parse(source: str | bytes) -> ast.Module:
    """Parse a source of reasonable size, or raise `RejectionError`."""
    try:
        text = source.decode("utf-8-sig") if isinstance(source, bytes) else source.removeprefix("\ufeff")
        if not text.strip():
            raise RejectionError("no_code", "The source is empty.")
        if len(text) > MAX_SOURCE_CHARACTERS:
            raise forbidden(f"The source has more than {MAX_SOURCE_CHARACTERS} characters.")
        tree = syntax_tree(text)
    except SyntaxError as error:
        where = f"Line {error.lineno}: " if error.lineno else ""
        raise RejectionError("syntax", f"{where}not valid Python: {error.msg}") from error
    except (RecursionError, MemoryError):
        raise forbidden("The source is nested too deeply to be parsed.") from None
    except (ValueError, OverflowError) as error:
        raise RejectionError("syntax", f"The source is not valid Python: {error}.") from error
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    nodes = 0
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if depth > MAX_DEPTH:
            raise forbidden(f"the code is nested more than {MAX_DEPTH} levels deep", node)
        if nodes > MAX_NODES:
            raise forbidden(f"The code has more than {MAX_NODES} syntax nodes.")
        stack.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
    return tree


def parameters(function: ast.FunctionDef) -> list[str]:
    """Return the names of a function's positional parameters."""
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]


def literal(value: float) -> str:
    """Return a number in the spelling of scalar programs."""
    number = float(value)
    text = f"np.{abs(number)}" if math.isinf(number) or math.isnan(number) else repr(abs(number))
    return f"(-{text})" if math.copysign(1.0, number) < 0 and not math.isnan(number) else text


def check_name(name: str, where: ast.AST) -> None:
    """Reject a name that starts with two underscores."""
    if name.startswith("__"):
        raise forbidden(f"no name may start like {name!r}", where)


@dataclass
class Module:
    """What names mean outside functions; an imported one is ``"np"``, ``"math"`` or one such as ``"np.sqrt"``."""

    component: Component = BRANCHING
    imported: dict[str, str] = field(default_factory=lambda: {"np": "np", "math": "math"})
    constants: dict[str, int | float] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: ast.Module, component: Component) -> Module:
        """Read a module; raise `RejectionError` at the first thing that may not stand outside a function."""
        module = cls(component)
        for statement in tree.body:
            if isinstance(statement, ast.FunctionDef):
                module._add_function(statement)
        for statement in tree.body:
            match statement:
                case ast.Import() | ast.ImportFrom():
                    module.add_import(statement)
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        module._add_constant(target, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    module._add_constant(target, value)
                case ast.FunctionDef() | ast.Expr(value=ast.Constant()) | ast.AnnAssign():
                    pass
                case _:
                    words = "only imports, constants and functions may stand outside a function"
                    raise forbidden(words, statement)
        signature = f"{component.function}({component.argument})"
        if component.function not in module.functions:
            raise RejectionError("signature", f"The source must define {signature}.")
        others = () if component == BRANCHING else map(COMPONENTS.find, COMPONENTS)
        if any(other != component and other.function in module.functions for other in others):
            raise RejectionError(
                "signature", f"The source must define {signature} alone, no rule of another component."
            )
        return module

    def meaning(self, node: ast.expr, local: Container[str] = ()) -> str:
        """Return what an expression names, such as ``"np.exp"``, ``"max"`` or a helper; "" if `local` hides it."""
        match node:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name)) if name in local:
                return ""
            case ast.Name(id=name):
                return self.imported.get(name, name if name in BUILTINS or name in self.functions else "")
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                module = self.imported.get(name)
                return f"{module}.{attribute}" if module in ("np", "math") else ""
        return ""

    def number(
        self, node: ast.expr, local: Container[str] = (), values: Mapping[str, object] = _NOTHING
    ) -> int | float | None:
        """Return the number of an expression of constants, or None; `local` names hide constants and have `values`."""
        match node:
            case ast.Constant(value=bool()):
                return None
            case ast.Constant(value=int() | float() as value):
                if isinstance(value, int) and value > MAX_INTEGER:
                    raise forbidden("an integer must not exceed 2**53; write it as a float", node)
                return value
            case ast.Name(id=name) if name in local:
                integer = values.get(name)
                return integer if isinstance(integer, int) else None
            case ast.Name(id=name) if name in self.constants:
                return self.constants[name]
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=operand):
                inner = self.number(operand, local, values)
                return -inner if inner is not None and isinstance(op, ast.USub) else inner
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                a, b = self.number(left, local, values), self.number(right, local, values)
                if a is None or b is None:
                    return None
                apply = OPERATORS[type(op)][1]
                if isinstance(a, int) and isinstance(b, int) and isinstance(op, _EXACT):
                    exact: int = apply(a, b)
                    return exact if abs(exact) <= MAX_INTEGER else float(exact)
                with np.errstate(all="ignore"):
                    return float(apply(np.float64(a), np.float64(b)))
            case ast.Name() | ast.Attribute():
                return CONSTANTS.get(self.meaning(node, local))
        return None

    def add_import(self, statement: ast.Import | ast.ImportFrom) -> None:
        """Note what an import binds."""
        for alias in statement.names:
            bound = alias.asname or alias.name
            if isinstance(statement, ast.Import):
                target, shown = _MODULES.get(alias.name, ""), alias.name
            else:
                module = _MODULES.get(statement.module or "", "") if statement.level == 0 else ""
                target, shown = f"{module}.{alias.name}", f"{statement.module or '.'}.{alias.name}"
                if target not in FUNCTIONS and target not in CONSTANTS:
                    target = ""
            if not target:
                words = f"a rule may import numpy, math and functions it may use of them, not {shown}"
                raise forbidden(words, statement)
            taken = {**self.functions, **self.constants, **self.imported}
            if taken.get(bound, target) != target:
                raise forbidden(f"the name {bound!r} has a meaning already", statement)
            self.imported[bound] = target

    def _add_function(self, function: ast.FunctionDef) -> None:
        arguments, name = function.args, function.name
        self._check_free(name, function)
        if len(self.functions) == MAX_FUNCTIONS:
            raise forbidden(f"a rule may have at most {MAX_FUNCTIONS} functions", function)
        if function.decorator_list or getattr(function, "type_params", None):
            raise forbidden("decorators and type parameters are not allowed", function)
        main = name == self.component.function
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            raise RejectionError("signature", f"{name} must take plain positional arguments only", function)
        if main and (len(parameters(function)) != 1 or arguments.defaults):
            expected = f"exactly one argument, {self.component.argument}, without default"
            raise RejectionError("signature", f"{name} must take {expected}", function)
        self.functions[name] = function

    def _check_free(self, name: str, where: ast.AST) -> None:
        check_name(name, where)
        if name in self.functions or name in self.constants or name in self.imported or name in BUILTINS:
            kind: RejectionKind = "signature" if name == self.component.function else "forbidden"
            raise RejectionError(kind, f"the name {name!r} has a meaning already", where)

    def _add_constant(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
                for name, part in zip(names, values, strict=True):
                    self._add_constant(name, part)
            case ast.Name(id=name), _ if (number := self.number(value)) is not None:
                self._check_free(name, target)
                self.constants[name] = number
            case _:
                raise forbidden("a constant outside the function must be a name for a number", target)
