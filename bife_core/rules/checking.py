"""The first wall around a rule: only listed syntax and listed names pass, everything else is rejected by line.

An allow-list: what is not mentioned here is not allowed, so new syntax of a later Python is rejected by
itself.
"""

from __future__ import annotations

import ast
from typing import Final

from bife_core.rules.language import (
    ARRAY_ATTRIBUTES,
    ARRAY_METHODS,
    CONSTANTS,
    FUNCTION_NAME,
    FUNCTIONS,
    KEYWORDS,
    MAX_INTEGER,
    RESERVED_PREFIX,
)
from bife_core.rules.names import Names
from bife_core.rules.rejections import RejectionError, forbidden

_SPOKEN: Final = {
    "AsyncFor": "async code",
    "AsyncFunctionDef": "async code",
    "AsyncWith": "async code",
    "Await": "async code",
    "ClassDef": "a class",
    "Delete": "del",
    "Dict": "a dictionary",
    "DictComp": "a dictionary",
    "GeneratorExp": "a generator expression other than as the only argument of a call",
    "Global": "global",
    "In": "the operator 'in'",
    "Invert": "the operator '~'",
    "Is": "the operator 'is'",
    "IsNot": "the operator 'is not'",
    "JoinedStr": "a string",
    "LShift": "the operator '<<'",
    "Lambda": "lambda",
    "MatMult": "the operator '@'",
    "NamedExpr": "the operator ':='",
    "NotIn": "the operator 'not in'",
    "RShift": "the operator '>>'",
    "Set": "a set",
    "SetComp": "a set",
    "Starred": "a starred expression",
    "Try": "try (arithmetic never raises here: x / 0 is an infinity or NaN)",
    "TryStar": "try",
    "YieldFrom": "yield",
}

_STATEMENTS: Final = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.If, ast.For, ast.While,
    ast.Break, ast.Continue, ast.Pass, ast.Expr,
)  # fmt: skip
_EXPRESSIONS: Final = (
    ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call,
    ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.ListComp, ast.comprehension,
)  # fmt: skip
_OPERATORS: Final = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr, ast.BitXor,
    ast.USub, ast.UAdd, ast.Not, ast.And, ast.Or,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Load, ast.Store,
)  # fmt: skip
_ALLOWED: Final = (*_STATEMENTS, *_EXPRESSIONS, *_OPERATORS)

_SPECIAL_FLOATS: Final = frozenset({"inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "nan"})


def check(names: Names) -> None:
    """Check every function of a rule.

    Raises
    ------
    RejectionError
        At the first thing outside the language of `bife_core.rules.language`.
    """
    for name, function in names.functions.items():
        _check_name(name, function)
        _check_signature(function, main=name == FUNCTION_NAME)
    around: dict[str, frozenset[str]] = {}
    for function in names.functions.values():  # those within a function come after it
        own = around.get(function.name, frozenset()) | local_names(function)
        around |= {inner.name: own for inner in function.body if isinstance(inner, ast.FunctionDef)}
    for function in names.functions.values():
        checker = _Checker(names, function, around.get(function.name, frozenset()))
        for statement in function.body:
            # Imports and helpers at the top of a function were lifted out when names were collected.
            if not isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef):
                checker.visit(statement)
    for (
        value
    ) in names.constants.values():  # numbers only, but which operators and how large was not looked at
        _Checker(names, names.functions[FUNCTION_NAME]).visit(value)
    _check_recursion(names)


def parameters(function: ast.FunctionDef) -> list[str]:
    """Return the names of a function's positional parameters."""
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]


def local_names(function: ast.FunctionDef) -> frozenset[str]:
    """Return the parameters of a function and all names it assigns, those of comprehensions included."""
    found = set(parameters(function))
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        stack.extend(ast.iter_child_nodes(node))
    return frozenset(found)


def special_float(node: ast.AST) -> str | None:
    """Return the text of ``float("inf")`` and its like, the only calls that may hold a string."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "float"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    ):
        text = node.args[0].value.strip().lower()
        return text if text in _SPECIAL_FLOATS else None
    return None


def literal_number(node: ast.AST) -> int | float | None:
    """Return the value of a number with any signs before it, or None."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = literal_number(node.operand)
        return -value if value is not None and isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]
    return None


def _check_signature(function: ast.FunctionDef, main: bool) -> None:
    arguments = function.args
    if function.decorator_list:
        raise forbidden("decorators are not allowed", function)
    if getattr(function, "type_params", None):
        raise forbidden("type parameters are not allowed", function)
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        raise RejectionError(
            "signature", f"{function.name} must take plain positional arguments only", function
        )
    if main and (len(parameters(function)) != 1 or arguments.defaults):
        found = ", ".join(parameters(function)) or "none"
        wanted = f"{FUNCTION_NAME} must take exactly one argument, variable_features, without default"
        raise RejectionError("signature", f"{wanted} (found: {found})", function)
    for default in arguments.defaults:
        if literal_number(default) is None:
            raise forbidden("the default of a helper's argument must be a number", default)


class _Checker(ast.NodeVisitor):
    def __init__(self, names: Names, function: ast.FunctionDef, around: frozenset[str] = frozenset()) -> None:
        self._names = names
        self._around = around
        self._where: ast.AST = function
        self._locals = local_names(function)
        for name in sorted(self._locals):
            _check_name(name, function)
            if name in names.imported or name in names.functions:
                raise forbidden(f"the name {name!r} has a meaning already and cannot be assigned", function)

    def visit(self, node: ast.AST) -> None:
        if hasattr(node, "lineno"):
            self._where = node
        if not isinstance(node, _ALLOWED):
            kind = type(node).__name__
            spoken = _SPOKEN.get(kind, kind.lower())
            # Operators have no line of their own.
            raise forbidden(f"a rule may not use {spoken}", self._where)
        super().visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if hasattr(node, "lineno"):
                self._where = node
            self.visit(child)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, str):
            raise forbidden("a rule may not use strings", node)
        if value is None:
            raise forbidden("a rule may not use None", node)
        if not isinstance(value, bool | int | float):
            raise forbidden(f"a rule may not use the literal {value!r}", node)
        if isinstance(value, int) and value > MAX_INTEGER:
            raise forbidden("an integer must not exceed 2**53; write it as a float", node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            raise RejectionError("type", "the function returns None here; a score must be one number", node)
        self.visit(node.value)

    def visit_For(self, node: ast.For | ast.While) -> None:
        if node.orelse:
            raise forbidden("a loop may not have an else part", node)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self.visit_For(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            _check_target(target)
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        _check_target(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        _check_target(node.target)
        self.visit(node.op)
        self.visit(node.value)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        if node.is_async:
            raise forbidden("a rule may not use async code", node.target)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self._locals:
            return
        if node.id in self._around:
            said = (
                "is a variable of the function around this helper, which does not see it: make it an argument"
            )
            raise forbidden(f"{node.id!r} {said}", node)
        if node.id in self._names.constants:
            return
        meaning = self._names.canonical(node)
        if meaning in CONSTANTS:
            return
        if meaning is not None:
            raise forbidden(f"{node.id!r} may only be called, not used as a value", node)
        _check_name(node.id, node)
        scope = "the function sees its own names and constants defined outside any function"
        raise forbidden(f"the name {node.id!r} is not defined ({scope})", node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self._is_module(node.value):
            meaning = self._names.canonical(node)
            if meaning in CONSTANTS:
                return
            if meaning in FUNCTIONS:
                raise forbidden(f"{meaning} may only be called, not used as a value", node)
            raise forbidden(f"{meaning} is not among the functions a rule may use", node)
        if node.attr not in ARRAY_ATTRIBUTES:
            raise forbidden(f"the attribute {node.attr!r} is not allowed", node)
        self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            raise forbidden("a rule may not assign to elements; compute a new value instead", node)
        if isinstance(node.slice, ast.Tuple):
            raise forbidden("an index must be one number or one slice", node)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.generic_visit(node)  # first: a literal too large to be printed is rejected there
        if isinstance(node.op, ast.Pow):
            base, power = literal_number(node.left), literal_number(node.right)
            if isinstance(base, int) and isinstance(power, int) and base.bit_length() * abs(power) > 53:
                raise forbidden(f"{base} ** {power} is too large for an integer; write it as a float", node)

    def visit_Call(self, node: ast.Call) -> None:
        if special_float(node) is not None and "float" not in self._locals:
            return
        self._check_callee(node)
        arguments = node.args
        if len(arguments) == 1 and isinstance(arguments[0], ast.GeneratorExp) and not node.keywords:
            self.generic_visit(arguments[0])
            return
        for argument in (*arguments, *(keyword.value for keyword in node.keywords)):
            if not _is_dtype(node, argument, self._names):
                self.visit(argument)

    def _check_callee(self, node: ast.Call) -> None:
        callee = node.func
        if isinstance(callee, ast.Attribute) and not self._is_module(callee.value):
            if callee.attr not in ARRAY_METHODS:
                raise forbidden(f"the method {callee.attr!r} is not allowed", node)
            if node.args or node.keywords:
                raise forbidden(f"the method {callee.attr!r} takes no arguments in a rule", node)
            self.visit(callee.value)
            return
        meaning = self._names.canonical(callee)
        if isinstance(callee, ast.Name) and callee.id in self._locals:
            raise forbidden(f"{callee.id!r} is a value here and cannot be called", node)
        if meaning in self._names.functions:
            self._check_helper_call(node, self._names.functions[meaning])
        elif meaning not in FUNCTIONS:
            shown = ast.unparse(callee)
            raise forbidden(f"{shown} is not among the functions a rule may use", node)
        else:
            allowed = KEYWORDS.get(meaning, frozenset())
            for keyword in node.keywords:
                if keyword.arg not in allowed:
                    raise forbidden(f"{meaning} takes no argument {keyword.arg!r} in a rule", node)

    def _check_helper_call(self, node: ast.Call, helper: ast.FunctionDef) -> None:
        wanted = parameters(helper)
        given = wanted[: len(node.args)] + [keyword.arg or "**" for keyword in node.keywords]
        required = wanted[: len(wanted) - len(helper.args.defaults)]
        too_many = len(node.args) > len(wanted) or len(set(given)) < len(given)
        if too_many or not set(required) <= set(given) <= set(wanted):
            raise forbidden(f"{helper.name} is called with arguments it does not take", node)

    def _is_module(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and self._names.imported.get(node.id) in ("np", "math")


def _check_name(name: str, where: ast.AST) -> None:
    if name.startswith(("__", RESERVED_PREFIX)):
        raise forbidden(f"no name may start like {name!r}", where)


def _check_target(target: ast.expr) -> None:
    if isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            _check_target(element)
    elif isinstance(target, ast.Subscript):
        raise forbidden("a rule may not assign to elements; compute a new value instead", target)
    elif not isinstance(target, ast.Name):
        raise forbidden("only plain names may be assigned", target)


def _is_dtype(call: ast.Call, argument: ast.expr, names: Names) -> bool:
    for keyword in call.keywords:
        if keyword.arg == "dtype" and keyword.value is argument:
            if names.canonical(argument) not in ("float", "np.float64"):
                raise forbidden("the only dtype in a rule is float", call)
            return True
    return False


def _check_recursion(names: Names) -> None:
    calls = {
        name: {
            called
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and (called := names.canonical(node.func)) in names.functions
        }
        for name, function in names.functions.items()
    }
    done: set[str] = set()

    def follow(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise forbidden(f"the function {name!r} calls itself", names.functions[name])
        if name not in done:
            for called in sorted(c for c in calls[name] if c is not None):
                follow(called, (*path, name))
            done.add(name)

    for name in names.functions:
        follow(name, ())
