"""The first wall around a rule: text to syntax tree, listed syntax and listed names only, and their normal form.

An allow-list: what is not mentioned here is rejected, with its line, and so is new syntax of a later Python. What is
left when everything without effect on scores is taken away is the normal form, which hashing and lowering start from:
docstrings, annotations and imports are gone; functions of numpy and math have one spelling; ``a += b`` reads ``a = a +
b``; constants from outside the functions stand where they are used; calls of helpers name every argument by position;
functions that are never called are dropped.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from bife_core.rules.language import (
    BUILTINS,
    CONSTANTS,
    FUNCTION_NAME,
    FUNCTIONS,
    MAX_DEPTH,
    MAX_FUNCTIONS,
    MAX_INTEGER,
    MAX_NODES,
    MAX_SOURCE_CHARACTERS,
    RESERVED_PREFIX,
)
from bife_core.rules.types import RejectionError, forbidden
from bife_core.syntax import syntax_tree

_SPOKEN: Final = {
    "ClassDef": "a class",
    "FunctionDef": "a function within a function; define helpers beside it",
    "GeneratorExp": "a sequence",
    "Import": "an import below the top of a function",
    "ImportFrom": "an import below the top of a function",
    "List": "a list",
    "ListComp": "a list",
    "Slice": "a slice of the features",
    "Try": "try (arithmetic never raises here: x / 0 is an infinity or NaN)",
    "Tuple": "a tuple, except to assign several names at once",
    "While": "while; write `for i in range(10)` with constant ends",
}

_ALLOWED: Final = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.If, ast.For,
    ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call,
    ast.Attribute, ast.Subscript,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow,
    ast.USub, ast.UAdd, ast.Not, ast.And, ast.Or,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Load, ast.Store,
)  # fmt: skip

_SPECIAL_FLOATS: Final = frozenset({"inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "nan"})
_MODULES: Final = {"numpy": "np", "math": "math"}
_MAX_CONSTANT_NODES: Final = 300

_Node = TypeVar("_Node", bound=ast.AST)


def at(where: ast.AST, node: _Node) -> _Node:
    """Return a node made for the place of another, whose line messages name."""
    return ast.copy_location(node, where)


def dotted(text: str, where: ast.AST) -> ast.expr:
    """Return what a canonical name such as ``"np.exp"`` or ``"max"`` names."""
    module, _, attribute = text.rpartition(".")
    if not module:
        return at(where, ast.Name(id=attribute, ctx=ast.Load()))
    return at(where, ast.Attribute(value=dotted(module, where), attr=attribute, ctx=ast.Load()))


def literal_number(node: ast.AST) -> int | float | None:
    """Return the value of a number with any signs before it, or None."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = literal_number(node.operand)
        return -value if value is not None and isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]
    return None


def parameters(function: ast.FunctionDef) -> list[str]:
    """Return the names of a function's positional parameters."""
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]


def local_names(function: ast.FunctionDef) -> frozenset[str]:
    """Return the parameters of a function and all names it assigns."""
    stored = (
        node.id
        for statement in function.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    return frozenset(parameters(function)).union(stored)


def called_name(node: ast.Call) -> str:
    """Return ``"np.exp"``, ``"max"`` or a helper's name for a call in normal form."""
    return ast.unparse(node.func)


def parse(source: str | bytes) -> ast.Module:
    """Parse a source of reasonable size.

    Raises
    ------
    RejectionError
        If it is empty, not UTF-8, not Python, or too large or too deeply nested to be handled safely.
    """
    if isinstance(source, bytes):
        try:
            source = source.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise RejectionError("syntax", f"The source is not UTF-8 text (byte {error.start}).") from error
    if not source.strip():
        raise RejectionError("no_code", "The source is empty.")
    if len(source) > MAX_SOURCE_CHARACTERS:
        size = f"{len(source)} characters long; at most {MAX_SOURCE_CHARACTERS} are allowed"
        raise forbidden(f"The source is {size}.")
    try:
        tree = syntax_tree(source.removeprefix("\ufeff"))
    except SyntaxError as error:
        where = f"Line {error.lineno}: " if error.lineno else ""
        raise RejectionError("syntax", f"{where}not valid Python: {error.msg}") from error
    except (RecursionError, MemoryError):
        raise forbidden("The source is nested too deeply to be parsed.") from None
    except (ValueError, UnicodeError, OverflowError) as error:
        raise RejectionError("syntax", f"The source is not valid Python: {error}.") from error
    _measure(tree)
    return tree


def count_nodes(tree: ast.AST) -> int:
    """Return the number of syntax nodes, the root included."""
    return sum(1 for _ in ast.walk(tree))


def _measure(tree: ast.Module) -> None:
    # With an explicit stack: the limit protects the recursive passes that follow.
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


def normal_form(tree: ast.Module) -> tuple[ast.FunctionDef, ...]:
    """Check a parsed rule and return its functions in normal form; the tree is used up.

    Returns
    -------
    tuple of ast.FunctionDef
        The scoring function first, then the helpers in the order they are first called from it.

    Raises
    ------
    RejectionError
        At the first thing outside the language of `bife_core.rules.language`.
    """
    names = _collect(tree)
    for function in names.functions.values():
        _check_signature(function, main=function.name == FUNCTION_NAME)
    calls = {name: _Normal(names, function).rewrite() for name, function in names.functions.items()}
    order = [FUNCTION_NAME]
    for name in order:  # grows while it is walked
        for called in calls[name]:
            if called not in order:
                order.append(called)
    functions = tuple(names.functions[name] for name in order)
    # Constants put in where they are used can make the tree larger than its text.
    if sum(map(count_nodes, functions)) > 2 * MAX_NODES:
        raise forbidden("The code is too large once its constants are put in.")
    return functions


@dataclass
class _Names:
    """What module-level names mean: of imports, ``"np"`` or such as ``"np.sqrt"``; of constants, their expression."""

    imported: dict[str, str] = field(default_factory=lambda: {"np": "np", "math": "math"})
    constants: dict[str, ast.expr] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)

    def canonical(self, node: ast.expr) -> str | None:
        """Return what an expression names: ``"np.exp"``, ``"max"``, ``"math"``, a helper's name, or None."""
        if isinstance(node, ast.Name):
            own = node.id if node.id in BUILTINS or node.id in self.functions else None
            return self.imported.get(node.id, own)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = self.imported.get(node.value.id)
            return f"{module}.{node.attr}" if module in ("np", "math") else None
        return None

    def add_import(self, statement: ast.Import | ast.ImportFrom) -> None:
        for alias in statement.names:
            if isinstance(statement, ast.Import):
                target, shown = _MODULES.get(alias.name), alias.name
            else:
                module = _MODULES.get(statement.module or "") if statement.level == 0 else None
                target = f"{module}.{alias.name}" if module else None
                shown = f"{statement.module or '.'}.{alias.name}"
                if target is not None and target not in FUNCTIONS and target not in CONSTANTS:
                    raise forbidden(f"{shown} is not among the functions a rule may use", statement)
            if target is None:
                raise forbidden(f"a rule may import numpy and math only, not {shown}", statement)
            bound = alias.asname or alias.name
            if self.imported.get(bound, target) != target:
                raise forbidden(f"{bound!r} is imported twice with different meanings", statement)
            self.imported[bound] = target

    def add_function(self, function: ast.FunctionDef) -> None:
        if function.name in self.functions:
            raise RejectionError("signature", f"the function {function.name!r} is defined twice", function)
        if function.name in self.imported or function.name in BUILTINS:
            said = f"a helper may not be called {function.name!r}, which has a meaning already"
            raise forbidden(said, function)
        if len(self.functions) == MAX_FUNCTIONS:
            raise forbidden(f"a rule may have at most {MAX_FUNCTIONS} functions", function)
        _check_name(function.name, function)
        self.functions[function.name] = function
        for inner in function.body:
            if isinstance(inner, ast.Import | ast.ImportFrom):
                self.add_import(inner)

    def add_constant(self, target: ast.expr, value: ast.expr) -> None:
        if (
            isinstance(target, ast.Tuple)
            and isinstance(value, ast.Tuple)
            and len(target.elts) == len(value.elts)
        ):
            for inner, part in zip(target.elts, value.elts, strict=True):
                self.add_constant(inner, part)
            return
        if not isinstance(target, ast.Name):
            raise forbidden("a constant outside the function must be a plain name", target)
        taken = target.id in self.imported or target.id in self.functions or target.id in BUILTINS
        if taken or target.id in self.constants:
            raise forbidden(f"the name {target.id!r} has a meaning already", target)
        _check_name(target.id, target)
        self.constants[target.id] = self._number(value)

    def _number(self, node: ast.expr) -> ast.expr:
        """Return an expression of numbers, with earlier constants put in and functions of numpy spelled out."""
        match node:
            case ast.Constant(value=int() | float()):
                _check_integer(node)
                return node
            case ast.Name() if node.id in self.constants:
                return self.constants[node.id]
            case ast.BinOp(op=op) if isinstance(op, _ALLOWED):
                node.left, node.right = self._number(node.left), self._number(node.right)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                node.operand = self._number(node.operand)
            case _ if (meaning := self.canonical(node)) in CONSTANTS:
                return dotted(meaning or "", node)
            case _:
                raise forbidden("a constant outside the function must be made of numbers only", node)
        if count_nodes(node) > _MAX_CONSTANT_NODES:
            raise forbidden("this constant is too large", node)
        return node


def _collect(tree: ast.Module) -> _Names:
    names = _Names()
    assigned: list[ast.Assign | ast.AnnAssign] = []
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            names.add_import(statement)
        elif isinstance(statement, ast.FunctionDef):
            names.add_function(statement)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            assigned.append(statement)
        elif not _is_bare_constant(statement):
            raise forbidden("only imports, constants and functions may stand outside a function", statement)
    if FUNCTION_NAME not in names.functions:
        raise RejectionError("signature", f"The source must define {FUNCTION_NAME}(variable_features).")
    for definition in assigned:
        targets = definition.targets if isinstance(definition, ast.Assign) else [definition.target]
        if definition.value is not None:
            for target in targets:
                names.add_constant(target, definition.value)
    return names


def _is_bare_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _check_signature(function: ast.FunctionDef, main: bool) -> None:
    arguments = function.args
    if function.decorator_list:
        raise forbidden("decorators are not allowed", function)
    if getattr(function, "type_params", None):
        raise forbidden("type parameters are not allowed", function)
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        said = f"{function.name} must take plain positional arguments only"
        raise RejectionError("signature", said, function)
    if main and (len(parameters(function)) != 1 or arguments.defaults):
        found = ", ".join(parameters(function)) or "none"
        wanted = f"{FUNCTION_NAME} must take exactly one argument, variable_features, without default"
        raise RejectionError("signature", f"{wanted} (found: {found})", function)
    for default in arguments.defaults:
        if literal_number(default) is None:
            raise forbidden("the default of a helper's argument must be a number", default)


def _check_name(name: str, where: ast.AST) -> None:
    if name.startswith(("__", RESERVED_PREFIX)):
        raise forbidden(f"no name may start like {name!r}", where)


def _check_integer(node: ast.Constant) -> None:
    if isinstance(node.value, int) and node.value > MAX_INTEGER:
        raise forbidden("an integer must not exceed 2**53; write it as a float", node)


class _Normal(ast.NodeTransformer):
    """Checks one function and rewrites it in place."""

    def __init__(self, names: _Names, function: ast.FunctionDef) -> None:
        self._names = names
        self._function = function
        self._where: ast.AST = function
        self._calls: list[ast.Call] = []
        self._local = local_names(function)
        for name in sorted(self._local):
            _check_name(name, function)
            if name in names.imported or name in names.functions:
                raise forbidden(f"the name {name!r} has a meaning already and cannot be assigned", function)

    def rewrite(self) -> list[str]:
        """Rewrite the function, and return the helpers it calls in the order of its text."""
        function = self._function
        # Imports at the top of a function were noted when names were collected.
        body = [one for one in function.body if not isinstance(one, ast.Import | ast.ImportFrom)]
        function.body = self._body(body)
        self._calls.sort(key=lambda call: (call.lineno, call.col_offset))
        return [called_name(call) for call in self._calls]

    def visit(self, node: ast.AST) -> Any:
        if hasattr(node, "lineno"):
            self._where = node
        if not isinstance(node, _ALLOWED):
            kind = type(node).__name__
            # Operators have no line of their own.
            raise forbidden(f"a rule may not use {_SPOKEN.get(kind, kind.lower())}", self._where)
        return super().visit(node)

    def _body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        kept: list[ast.stmt] = []
        for statement in statements:
            no_effect = _is_bare_constant(statement) or isinstance(statement, ast.Pass)
            if isinstance(statement, ast.AnnAssign) and statement.value is None:
                self._check_target(statement.target)
            elif isinstance(statement, ast.Expr) and not no_effect:
                self.visit(statement.value)
                raise forbidden("a line with a value that is not used has no effect", statement)
            elif not no_effect:
                kept.append(self.visit(statement))
        return kept or [ast.Pass()]

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            raise RejectionError("type", "the function returns None here; a score must be one number", node)
        if isinstance(node.value, ast.Tuple | ast.List | ast.ListComp):
            raise RejectionError("type", "the function returns a sequence; a score must be one number", node)
        node.value = self.visit(node.value)
        return node

    def visit_If(self, node: ast.If) -> ast.If:
        node.test = self.visit(node.test)
        node.body = self._body(node.body)
        node.orelse = self._body(node.orelse) if node.orelse else []
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        match node:
            case ast.For(
                target=ast.Name(), iter=ast.Call(func=ast.Name(id="range"), keywords=[]) as head, orelse=[]
            ) if 1 <= len(head.args) <= 3 and "range" not in self._local:
                head.args = [self.visit(end) for end in head.args]
            case _:
                said = "a loop must be `for i in range(...)` with one to three constant integers, and no else"
                raise forbidden(said, node)
        node.body = self._body(node.body)
        node.type_comment = None
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        for target in node.targets:
            self._check_target(target)
        tuples = [target for target in node.targets if isinstance(target, ast.Tuple)]
        if not tuples:
            node.value = self.visit(node.value)
        elif (
            isinstance(node.value, ast.Tuple)
            and len(tuples) == len(node.targets)
            and {len(target.elts) for target in tuples} == {len(node.value.elts)}
        ):
            node.value.elts = [self.visit(part) for part in node.value.elts]
        else:
            raise forbidden("several names need as many values: `a, b = 1.0, 2.0`", node)
        node.type_comment = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        assert node.value is not None
        return self.visit(at(node, ast.Assign(targets=[node.target], value=node.value)))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self._check_target(node.target)
        assert isinstance(node.target, ast.Name)
        current = at(node, ast.Name(id=node.target.id, ctx=ast.Load()))
        value = at(node, ast.BinOp(left=current, op=node.op, right=node.value))
        return self.visit(at(node, ast.Assign(targets=[node.target], value=value)))

    def _check_target(self, target: ast.expr) -> None:
        if isinstance(target, ast.Subscript):
            raise forbidden("a rule may not assign to elements; compute a new value instead", target)
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        if not all(isinstance(name, ast.Name) for name in names):
            raise forbidden("only plain names may be assigned", target)

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if not isinstance(node.value, bool | int | float):
            raise forbidden("a rule may use no literal but numbers, True and False", node)
        _check_integer(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._local:
            return node
        constant = self._names.constants.get(node.id)
        if constant is not None:
            # The copy keeps the line of its use, which is what a message should name.
            return _relocated(constant, node)
        meaning = self._names.canonical(node)
        if meaning in CONSTANTS:
            return dotted(meaning, node)
        if meaning is not None:
            raise forbidden(f"{node.id!r} may only be called, not used as a value", node)
        _check_name(node.id, node)
        scope = "the function sees its own names and constants defined outside any function"
        raise forbidden(f"the name {node.id!r} is not defined ({scope})", node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        meaning = self._names.canonical(node)
        if meaning in CONSTANTS:
            return dotted(meaning, node)
        if meaning in FUNCTIONS:
            raise forbidden(f"{meaning} may only be called, not used as a value", node)
        if meaning is not None:
            raise forbidden(f"{meaning} is not among the functions a rule may use", node)
        raise forbidden(f"the attribute {node.attr!r} is not allowed", node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        special = self._special_float(node)
        if special is not None:
            return special
        if isinstance(node.func, ast.Name) and node.func.id in self._local:
            raise forbidden(f"{node.func.id!r} is a value here and cannot be called", node)
        meaning = self._names.canonical(node.func) or ""
        helper = self._names.functions.get(meaning)
        if helper is not None:
            _fill_arguments(node, helper)
            self._calls.append(node)
        elif meaning not in FUNCTIONS:
            shown = ast.unparse(node.func)
            raise forbidden(f"{shown} is not among the functions a rule may use", node)
        elif meaning == "range":
            raise forbidden("range may stand in the head of a for loop only", node)
        if node.keywords:
            raise forbidden(f"{meaning} takes no argument by name in a rule", node)
        node.args = [self.visit(argument) for argument in node.args]
        node.func = dotted(meaning, node.func)
        return node

    def _special_float(self, node: ast.Call) -> ast.expr | None:
        """Return ``float("inf")`` and its like, the only calls that may hold a string, as a constant."""
        match node:
            case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]) if (
                text.strip().lower() in _SPECIAL_FLOATS and "float" not in self._local
            ):
                text = text.strip().lower()
                value = dotted("np.nan" if text == "nan" else "np.inf", node)
                return at(node, ast.UnaryOp(op=ast.USub(), operand=value)) if text[0] == "-" else value
        return None


def _relocated(value: ast.expr, where: ast.AST) -> ast.expr:
    value = copy.deepcopy(value)
    for node in ast.walk(value):
        if isinstance(node, ast.expr):
            at(where, node)
    return value


def _fill_arguments(call: ast.Call, helper: ast.FunctionDef) -> None:
    """Give a call every argument of its helper by position, defaults put in."""
    wanted = parameters(helper)
    defaults = dict(zip(wanted[::-1], helper.args.defaults[::-1], strict=False))
    by_name = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    given = dict(zip(wanted, call.args, strict=False)) | by_name
    doubled = len(given) < len(call.args) + len(call.keywords)
    if doubled or not set(wanted) - set(defaults) <= set(given) <= set(wanted):
        raise forbidden(f"{helper.name} is called with arguments it does not take", call)
    call.args = [given.get(name) or _relocated(defaults[name], call) for name in wanted]
    call.keywords = []
