"""Trees of the grammar as Python, as formulas, and read back from the Python that was written."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final

from bife_core.language.components import Component, component_of
from bife_core.language.syntax import NOT_PYTHON, functions_in, syntax_tree
from bife_core.search.generators.offline.expression import (
    FLOOR,
    Kind,
    Leaf,
    Node,
    Operation,
    centred,
    joined,
    leaves,
    leaves_of,
    signed,
)

_PYTHON: Final[dict[Kind, str]] = {
    "min": "min({a}, {b})",
    "max": "max({a}, {b})",
    "geometric": "math.sqrt({a} * {b})",
    "harmonic": "2.0 / (1.0 / {a} + 1.0 / {b})",
    "log1p": "math.log1p({c} * {a})",
    "tanh": "math.tanh({c} * {a})",
    "saturation": "{a} / ({a} + {c})",
    "bonus": "1.0 + {c} * {a}",
}
"""How an operation of parts a and b with the number c is written; products and sums are written term by term."""

_FORMULAS: Final[dict[Kind, str]] = _PYTHON | {
    "geometric": "geometric mean({a}, {b})",
    "harmonic": "harmonic mean({a}, {b})",
    "log1p": "log(1 + {c} {a})",
    "tanh": "tanh({c} {a})",
    "saturation": "saturated({a}, {c})",
    "bonus": "(1 + {c} {a})",
}

_NUMBER: Final = r"[\d.]+(?:e[+-]?\d+)?"
_FACTOR: Final = re.compile(rf"(^|[*/] )(\w+)(?: \*\* ({_NUMBER}))?(?: |$)")
_TERM: Final = re.compile(rf"(?:({_NUMBER}) \* )?(\w+)")


def write(root: Node) -> str:
    """Return the source of the rule that computes `root`.

    Examples
    --------
    >>> print(write(Leaf(18)).splitlines()[-1].strip())
    return slack
    """
    names: dict[Node, str] = {}
    lines: list[str] = []

    def named(node: Node) -> str:
        if node not in names:
            code = _leaf(node) if isinstance(node, Leaf) else expression(node)
            name = node.about.name if isinstance(node, Leaf) else f"{node.kind}_{len(names)}"
            names[node] = name
            lines.append(f"    {name} = {code}")
        return names[node]

    def expression(node: Operation) -> str:
        return _text(node, [named(part) for part in node.parts], _PYTHON, repr, times=" * ", power="**")

    result = named(root) if isinstance(root, Leaf) else expression(root)
    body = "\n".join([f'    """Score = {describe(root)}."""', *lines, f"    return {result}"])
    head = "import math\n\n\n" if "math." in body else ""
    component = leaves(root)[0].component
    return f"{head}def {component.function}({component.argument}) -> float:\n{body}\n"


def _text(
    node: Operation,
    parts: Sequence[str],
    kinds: Mapping[Kind, str],
    number: Callable[[float], str],
    times: str,
    power: str,
) -> str:
    """Return an operation on parts that are written already, in the way that the last four arguments say."""
    pairs = [(part, value, number(abs(value))) for part, value in zip(parts, node.numbers, strict=False)]
    if node.kind == "sum":
        return " + ".join(part if value == 1.0 else f"{shown}{times}{part}" for part, value, shown in pairs)
    if node.kind != "product":
        return kinds[node.kind].format(a=parts[0], b=parts[-1], c=pairs[0][2] if pairs else "")
    text = ""
    for part, value, shown in pairs:
        factor = part if abs(value) == 1.0 else f"{part}{power}{shown}"
        first = not text and value > 0
        text = factor if first else f"{text or number(1.0)} {'*' if value > 0 else '/'} {factor}"
    return text


def _leaf(leaf: Leaf) -> str:
    value = f"{leaf.component.argument}[{leaf.feature}]"
    if signed(leaf):
        value = f"abs({value})"
    elif centred(leaf):
        value = f"1.0 + {value}"
    return f"max({value}, {FLOOR!r})"


def describe(node: Node) -> str:
    """Return what `node` computes, as a formula with the features' names; saturated(x, c) is x / (x + c)."""
    if isinstance(node, Leaf):
        name = node.about.name
        return f"|{name}|" if signed(node) else f"(1 + {name})" if centred(node) else name
    return _text(node, [_nested(part) for part in node.parts], _FORMULAS, "{:g}".format, times=" ", power="^")


def _nested(node: Node) -> str:
    joint = isinstance(node, Operation) and node.kind in ("product", "sum")
    return f"({describe(node)})" if joint else describe(node)


def read(source: str) -> Node | None:
    """Return the tree of a rule that `write` made, or None for any other text."""
    try:
        tree = syntax_tree(source)
        (function,) = functions_in(tree).values()
        _, *assignments, result = function.body
        nodes = dict(_leaves(component_of(tree)))
        for assignment in assignments:
            name, _, code = ast.unparse(assignment).partition(" = ")
            nodes[name] = _node(code, nodes)
        return _node(ast.unparse(result).removeprefix("return "), nodes)
    except (*NOT_PYTHON, KeyError):  # a ValueError, too, where a function has too little in it
        return None


@cache
def _leaves(component: Component) -> dict[str, Node]:
    """Return the leaves of a component by how they are spelled."""
    return {ast.unparse(ast.parse(_leaf(leaf))): leaf for leaf in leaves_of(component)}


_PATTERNS: Final = {
    kind: re.compile(
        re.escape(code)
        .replace(r"\{a\}", r"(?P<a>\w+)", 1)
        .replace(r"\{a\}", "(?P=a)")
        .replace(r"\{b\}", r"(?P<b>\w+)")
        .replace(r"\{c\}", f"(?P<c>{_NUMBER})")
    )
    for kind, code in _PYTHON.items()
}


def _node(code: str, nodes: dict[str, Node]) -> Node:
    """Return the node of an expression over what has one; a KeyError says that it is none of the grammar."""
    if code in nodes:
        return nodes[code]
    for kind, pattern in _PATTERNS.items():
        if match := pattern.fullmatch(code):
            names = match.groupdict()
            parts = tuple(nodes[names[part]] for part in "ab" if part in names)
            return Operation(kind, parts, (float(names["c"]),) if "c" in names else ())
    if " + " in code:
        terms = [_TERM.fullmatch(term) for term in code.split(" + ")]
        if None not in terms:
            return joined(
                "sum", *((nodes[term[2]], float(term[1] or 1.0)) for term in terms if term is not None)
            )
    code = code.removeprefix("1.0 ")
    factors = list(_FACTOR.finditer(code))
    if "".join(factor[0] for factor in factors) != code:
        raise KeyError(code)
    signs = {"/ ": -1.0}
    return joined("product", *((nodes[f[2]], signs.get(f[1], 1.0) * float(f[3] or 1.0)) for f in factors))
