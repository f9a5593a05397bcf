"""What compiling a rule may cost: a short text must not keep the compiler busy for hours.

numba compiles a helper once per combination of argument types, and a tuple's type names every element. Helpers
that call each other twice, and tuples made of two copies of the one before, therefore double the work with every
line. Both are measured here, by walking the rule with its calls written out, before any compiler sees it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

from bife_core.rules.checking import parameters
from bife_core.rules.language import (
    FUNCTION_NAME,
    MAX_LOOPS,
    MAX_SEQUENCE_DEPTH,
    MAX_TUPLE_LEAVES,
    MAX_WRITTEN_OUT,
)
from bife_core.rules.parsing import count_nodes
from bife_core.rules.refusal import forbidden


def check_growth(functions: tuple[ast.FunctionDef, ...]) -> None:
    """Check that compiling takes time in proportion to the text.

    Parameters
    ----------
    functions : tuple of ast.FunctionDef
        In normal form, the scoring function first; none calls itself.

    Raises
    ------
    Refusal
        If loops are nested too deeply, calls written out are too long, or a tuple's type is too large.
    """
    by_name = {function.name: function for function in functions}
    for function in functions:
        _check_loops(function, 0)
    _check_written_out(by_name)
    _Shapes(by_name).result(by_name[FUNCTION_NAME], [_NUMBER])


def _check_loops(node: ast.AST, depth: int) -> None:
    if isinstance(node, ast.For | ast.While | ast.comprehension):
        depth += 1
        if depth > MAX_LOOPS:
            where = node.target if isinstance(node, ast.comprehension) else node
            raise forbidden(f"loops are nested more than {MAX_LOOPS} levels deep", where)
    if isinstance(node, ast.ListComp):
        depth += len(node.generators) - 1
    for child in ast.iter_child_nodes(node):
        _check_loops(child, depth)


def _check_written_out(functions: dict[str, ast.FunctionDef]) -> None:
    sizes: dict[str, int] = {}

    def size(name: str) -> int:
        if name not in sizes:
            function = functions[name]
            sizes[name] = count_nodes(function) + sum(
                size(node.func.id)
                for node in ast.walk(function)
                if isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in functions
            )
        return sizes[name]

    if size(FUNCTION_NAME) > MAX_WRITTEN_OUT:
        raise forbidden(
            f"with its helpers written out where they are called, the rule has {size(FUNCTION_NAME)} syntax nodes; "
            f"at most {MAX_WRITTEN_OUT} are allowed",
            functions[FUNCTION_NAME],
        )


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is known of a value's type: how many numbers a tuple holds, how deep sequences nest.

    Attributes
    ----------
    leaves : int
        Numbers the type names one by one; 0 for a number, an array, or a list of numbers.
    depth : int
        Levels of tuples and lists.
    parts : tuple of _Shape
        Of a tuple its elements, of a list one that stands for all.
    """

    leaves: int = 0
    depth: int = 0
    parts: tuple[_Shape, ...] = ()

    def element(self) -> _Shape:
        return _largest(list(self.parts))


_NUMBER: Final = _Shape()


def _largest(shapes: list[_Shape]) -> _Shape:
    return max(shapes, key=lambda shape: (shape.leaves, shape.depth), default=_NUMBER)


def _tuple(parts: list[_Shape], where: ast.AST) -> _Shape:
    leaves = sum(max(1, part.leaves) for part in parts)
    return _checked(_Shape(leaves, 1 + _depth(parts), tuple(parts)), where)


def _list(element: _Shape, where: ast.AST) -> _Shape:
    return _checked(_Shape(element.leaves, 1 + element.depth, (element,)), where)


def _depth(parts: list[_Shape]) -> int:
    return max((part.depth for part in parts), default=0)


def _checked(shape: _Shape, where: ast.AST) -> _Shape:
    if shape.leaves > MAX_TUPLE_LEAVES:
        raise forbidden(f"a tuple would hold more than {MAX_TUPLE_LEAVES} numbers here", where)
    if shape.depth > MAX_SEQUENCE_DEPTH:
        raise forbidden(f"tuples and lists are nested more than {MAX_SEQUENCE_DEPTH} levels deep here", where)
    return shape


class _Shapes:
    """Follows shapes through the functions; a loop is walked once, as the types in it may not change."""

    def __init__(self, functions: dict[str, ast.FunctionDef]) -> None:
        self._functions = functions

    def result(self, function: ast.FunctionDef, arguments: list[_Shape]) -> _Shape:
        names = dict(zip(parameters(function), arguments, strict=True))
        return _largest(self._run(function.body, names))

    def _run(self, statements: list[ast.stmt], names: dict[str, _Shape]) -> list[_Shape]:
        """Update `names` and return the shapes of what is returned on the way."""
        returned: list[_Shape] = []
        for statement in statements:
            if isinstance(statement, ast.Assign):
                value = self._of(statement.value, names)
                for target in statement.targets:
                    _bind(target, value, names)
            elif isinstance(statement, ast.Return) and statement.value is not None:
                returned.append(self._of(statement.value, names))
            elif isinstance(statement, ast.If):
                self._of(statement.test, names)
                other = dict(names)
                returned += self._run(statement.body, names) + self._run(statement.orelse, other)
                for name, shape in other.items():
                    names[name] = _largest([names.get(name, shape), shape])
            elif isinstance(statement, ast.For):
                _bind(statement.target, self._of(statement.iter, names).element(), names)
                returned += self._run(statement.body, names)
            elif isinstance(statement, ast.While):
                self._of(statement.test, names)
                returned += self._run(statement.body, names)
            elif isinstance(statement, ast.Expr):
                self._of(statement.value, names)
        return returned

    def _of(self, node: ast.AST, names: dict[str, _Shape]) -> _Shape:
        if isinstance(node, ast.Name):
            return names.get(node.id, _NUMBER)
        if isinstance(node, ast.Tuple):
            return _tuple([self._of(element, names) for element in node.elts], node)
        if isinstance(node, ast.List):
            return _list(_largest([self._of(element, names) for element in node.elts]), node)
        if isinstance(node, ast.ListComp):
            return self._of_comprehension(node, names)
        if isinstance(node, ast.Subscript):
            return self._of_element(node, names)
        if isinstance(node, ast.Call):
            return self._of_call(node, names)
        inner = [self._of(child, names) for child in ast.iter_child_nodes(node)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = inner[0], inner[-1]
            joined = _Shape(left.leaves + right.leaves, _depth(inner), left.parts + right.parts)
            return _checked(joined, node)
        if isinstance(node, ast.BinOp | ast.IfExp | ast.BoolOp):
            return _largest(inner)
        return _NUMBER

    def _of_comprehension(self, node: ast.ListComp, names: dict[str, _Shape]) -> _Shape:
        names = dict(names)
        for generator in node.generators:
            _bind(generator.target, self._of(generator.iter, names).element(), names)
            for test in generator.ifs:
                self._of(test, names)
        return _list(self._of(node.elt, names), node)

    def _of_element(self, node: ast.Subscript, names: dict[str, _Shape]) -> _Shape:
        whole = self._of(node.value, names)
        self._of(node.slice, names)
        if isinstance(node.slice, ast.Slice):
            return whole
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(index, int) and index < len(whole.parts):
            return whole.parts[index]
        return whole.element()

    def _of_call(self, node: ast.Call, names: dict[str, _Shape]) -> _Shape:
        arguments = [self._of(argument, names) for argument in node.args]
        if not isinstance(node.func, ast.Name):
            self._of(node.func, names)
            return _NUMBER
        helper = self._functions.get(node.func.id)
        if helper is not None:
            return self.result(helper, arguments)
        if node.func.id == "zip":
            return _list(_tuple([argument.element() for argument in arguments], node), node)
        if node.func.id == "enumerate" and arguments:
            return _list(_tuple([_NUMBER, arguments[0].element()], node), node)
        if node.func.id in ("min", "max"):
            return arguments[0].element() if len(arguments) == 1 else _largest(arguments)
        return _largest(arguments) if node.func.id == "sorted" else _NUMBER


def _bind(target: ast.AST, value: _Shape, names: dict[str, _Shape]) -> None:
    if isinstance(target, ast.Name):
        names[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        known = len(value.parts) == len(target.elts)
        for i, element in enumerate(target.elts):
            _bind(element, value.parts[i] if known else value.element(), names)
