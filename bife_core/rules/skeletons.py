"""Numbers of a rule that may be other numbers: literals of its text, and named parameters of a skeleton.

A skeleton is written like a rule, except that the function has further arguments with numbers as defaults, and that
a dictionary says between which bounds each of them may be set::

    BOUNDS = {"weight": (0.0, 2.0)}


    def candidate_variable_score(variable_features, weight=0.5) -> float:
        return variable_features[24] * (1.0 + weight * variable_features[48])
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bife_core.errors import RuleError
from bife_core.rules.checking import literal_number, local_names
from bife_core.rules.language import FUNCTION_NAME
from bife_core.syntax import NOT_PYTHON, syntax_tree
from bife_core.values import Value

BOUNDS_NAME: Final = "BOUNDS"

GUARD: Final = 1e-4
"""Numbers up to this size keep divisors from zero; they are no parameters."""


class Parameter(Value):
    """A number of a skeleton that may be set anew: its name, present value and bounds."""

    name: str
    value: float
    low: float
    high: float


class Skeleton(Value):
    """A rule with named parameters; `parse_skeleton` makes one from text."""

    source: str
    parameters: tuple[Parameter, ...]

    def bound(self, values: Mapping[str, float] | None = None) -> str:
        """Return the plain rule with the parameters as named constants.

        Parameters
        ----------
        values : mapping, optional
            Numbers by name; a parameter that is missing keeps its present value.
        """
        tree, function = _parsed(self.source)
        body = [statement for statement in tree.body if not _is_bounds(statement)]
        function.args.args = function.args.args[:1]
        function.args.defaults = []
        constants: list[ast.stmt] = [
            ast.Assign([ast.Name(parameter.name, ast.Store())], ast.Constant(value))
            for parameter in self.parameters
            for value in [float((values or {}).get(parameter.name, parameter.value))]
        ]
        # One that the function assigns to is a variable of its own from the start, as a parameter is.
        assigned = local_names(function)
        own = [
            one
            for one, parameter in zip(constants, self.parameters, strict=True)
            if parameter.name in assigned
        ]
        documented = ast.get_docstring(function) is not None
        function.body[documented:documented] = own
        imports = sum(isinstance(statement, ast.Import | ast.ImportFrom) for statement in body)
        tree.body = [*body[:imports], *constants, *body[imports:]]
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"

    def set_to(self, values: Mapping[str, float]) -> Skeleton:
        """Return the skeleton with other present values."""
        tree, function = _parsed(self.source)
        moved = tuple(
            parameter.model_copy(update={"value": float(values.get(parameter.name, parameter.value))})
            for parameter in self.parameters
        )
        function.args.defaults = [ast.Constant(parameter.value) for parameter in moved]
        return Skeleton(source=ast.unparse(ast.fix_missing_locations(tree)) + "\n", parameters=moved)


def parse_skeleton(source: str) -> Skeleton:
    """Read a skeleton; a plain rule is one without parameters.

    Raises
    ------
    RuleError
        If the text is no Python, lacks the function, or a parameter lacks its number or its bounds.

    Examples
    --------
    >>> skeleton = parse_skeleton('''
    ... BOUNDS = {"power": (0.5, 2.0)}
    ... def candidate_variable_score(variable_features, power=1.0):
    ...     return variable_features[18] ** power
    ... ''')
    >>> print(skeleton.bound({"power": 1.5}))
    power = 1.5
    <BLANKLINE>
    def candidate_variable_score(variable_features):
        return variable_features[18] ** power
    <BLANKLINE>
    """
    tree, function = _parsed(source)
    arguments = function.args
    others = (arguments.posonlyargs, arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    if any(others) or not arguments.args:
        raise RuleError(f"`{FUNCTION_NAME}` takes the features and plain arguments with numbers as defaults.")
    names = [argument.arg for argument in arguments.args[1:]]
    if len(arguments.defaults) != len(names):
        raise RuleError(f"Each parameter of `{FUNCTION_NAME}` needs a number as its default.")
    bounds = _bounds(tree)
    parameters = []
    for name, default in zip(names, arguments.defaults, strict=True):
        value = _number(default)
        if value is None:
            raise RuleError(f"The default of the parameter `{name}` must be a number.")
        if name not in bounds:
            raise RuleError(f"The parameter `{name}` has no bounds in the dictionary `{BOUNDS_NAME}`.")
        low, high = bounds[name]
        if not low < high:
            raise RuleError(f"The bounds of `{name}` must be (low, high), found ({low:g}, {high:g}).")
        parameters.append(Parameter(name=name, value=min(max(value, low), high), low=low, high=high))
    return Skeleton(source=source, parameters=tuple(parameters))


def _parsed(source: str) -> tuple[ast.Module, ast.FunctionDef]:
    try:
        tree = syntax_tree(source)
    except NOT_PYTHON as error:
        raise RuleError(f"The skeleton is no valid Python: {error}.") from error
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == FUNCTION_NAME]
    if not found:
        raise RuleError(f"The skeleton has no function `{FUNCTION_NAME}`.")
    return tree, found[-1]


def _is_bounds(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name == BOUNDS_NAME
    return False


def _bounds(tree: ast.Module) -> dict[str, tuple[float, float]]:
    bounds: dict[str, tuple[float, float]] = {}
    for statement in tree.body:
        if not _is_bounds(statement) or not isinstance(statement, ast.Assign | ast.AnnAssign):
            continue
        if not isinstance(statement.value, ast.Dict):
            raise RuleError(f"`{BOUNDS_NAME}` must be a dictionary of (low, high) by parameter name.")
        for key, value in zip(statement.value.keys, statement.value.values, strict=True):
            ends = [_number(end) for end in value.elts] if isinstance(value, ast.Tuple | ast.List) else []
            match key, ends:
                case ast.Constant(value=str(name)), [float(low), float(high)]:
                    bounds[name] = low, high
                case _:
                    said = "must give two numbers, (low, high), for each parameter name"
                    raise RuleError(f"`{BOUNDS_NAME}` {said}.")
    return bounds


def _number(node: ast.expr) -> float | None:
    value = literal_number(node)
    return float(value) if value is not None and math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Literal:
    """A floating-point number in a text.

    Attributes
    ----------
    value : float
    line, begin, end : int
        Where it stands: the line from 0, and bytes in it.
    of_score : bool
        Whether it stands in the body of the scoring function itself.
    """

    value: float
    line: int
    begin: int
    end: int
    of_score: bool


def literals(source: str) -> list[Literal]:
    """Return the numbers of a rule that may be tuned, in the order of the text; none of what is no Python.

    Feature indices and other whole numbers, guards such as 1e-9, and numbers in docstrings are none.
    """
    try:
        tree = syntax_tree(source)
    except NOT_PYTHON:
        return []
    inside = {
        id(inner)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name == FUNCTION_NAME
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found = [
        Literal(node.value, node.lineno - 1, node.col_offset, node.end_col_offset or 0, id(node) in inside)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, float)
        and math.isfinite(node.value)
        and node.value > GUARD
        and node.lineno == node.end_lineno
    ]
    return sorted(found, key=lambda literal: (literal.line, literal.begin))


def with_literals(source: str, places: Sequence[Literal], texts: Sequence[str]) -> str:
    """Return the source with texts in place of some of its literals; nothing else changes."""
    lines = source.encode().splitlines(keepends=True)
    for place, text in sorted(
        zip(places, texts, strict=True), key=lambda pair: (pair[0].line, pair[0].begin), reverse=True
    ):
        # Columns of a syntax tree count bytes.
        line = lines[place.line]
        lines[place.line] = line[: place.begin] + text.encode() + line[place.end :]
    return b"".join(lines).decode()
