"""From a syntax tree to readable Python, and to a sentence that says what it computes."""

from __future__ import annotations

import re
import textwrap
from typing import Final

from bife_core.features import FEATURES
from bife_core.generators.offline.expression import (
    FLOOR,
    Blend,
    Bonus,
    Leaf,
    Node,
    Pair,
    Product,
    Squash,
    Sum,
    centred,
    leaves,
    role_of_feature,
    signed,
)

ARGUMENT: Final = "variable_features"
_PREFIX: Final = {
    "min": "smaller",
    "max": "larger",
    "geometric": "geometric",
    "harmonic": "harmonic",
    "log1p": "log",
    "tanh": "bounded",
    "saturation": "saturated",
}
_WIDTH: Final = 98


def number(value: float) -> str:
    """Return the shortest usual spelling of a number that reads back as the same float."""
    return repr(float(value))


def write(root: Node) -> str:
    """Return the source of the rule that computes `root`.

    Examples
    --------
    >>> from bife_core.generators.offline.expression import Leaf
    >>> print(write(Leaf(18)).splitlines()[-1].strip())
    return slack
    """
    writer = _Writer()
    result = writer.expression(root)
    docstring = textwrap.wrap(
        f'"""Score = {describe(root)}."""', _WIDTH, break_long_words=False, break_on_hyphens=False
    )
    lines = [*docstring, *writer.reads.values(), *writer.lines, *_fitted("return ", result, root)]
    body = textwrap.indent("\n".join(lines), "    ")
    head = "import math\n\n\n" if "math." in body else ""
    return f"{head}def candidate_variable_score({ARGUMENT}) -> float:\n{body}\n"


class _Writer:
    """Gives every part with parts of its own a name and a line."""

    def __init__(self) -> None:
        self.reads: dict[int, str] = {}
        self.lines: list[str] = []
        self._names: dict[Node, str] = {}

    def name(self, node: Node) -> str:
        """Return the name of the variable that holds `node`, writing its line first if there is none yet."""
        if node in self._names:
            return self._names[node]
        if isinstance(node, Leaf):
            name = FEATURES[node.feature].name
            self.reads[node.feature] = f"{name} = {_read(node.feature)}"
        else:
            expression = self.expression(node)
            stem = _stem(node)
            taken = set(self._names.values())
            name = next(n for n in (stem, *(f"{stem}_{i}" for i in range(2, 100))) if n not in taken)
            self.lines += _fitted(f"{name} = ", expression, node)
        self._names[node] = name
        return name

    def expression(self, node: Node) -> str:
        match node:
            case Leaf():
                return self.name(node)
            case Pair(kind="min" | "max"):
                return f"{node.kind}({self.name(node.left)}, {self.name(node.right)})"
            case Pair(kind="geometric"):
                return f"math.sqrt({self.name(node.left)} * {self.name(node.right)})"
            case Pair():
                left, right = self.name(node.left), self.name(node.right)
                return f"2.0 / (1.0 / {left} + 1.0 / {right})"
            case Blend():
                pair = f"({self.name(node.left)}, {self.name(node.right)})"
                return f"{number(node.share)} * max{pair} + {number(round(1.0 - node.share, 6))} * min{pair}"
            case Squash(kind="saturation"):
                part = self.name(node.part)
                return f"{part} / ({part} + {number(node.scale)})"
            case Squash():
                return f"math.{node.kind}({_times(node.scale, self.name(node.part))})"
            case Bonus():
                return f"1.0 + {number(node.weight)} * {self.name(node.part)}"
            case Sum():
                return " + ".join(_times(weight, self.name(part)) for part, weight in node.terms)
            case Product():
                return self._product(node)

    def _product(self, node: Product) -> str:
        # Factors keep their order when read back: division by one factor after another, not by a product.
        text = ""
        for part, exponent in node.factors:
            power = _power(self.name(part), abs(exponent))
            if not text:
                text = power if exponent > 0 else f"1.0 / {power}"
            else:
                text += f" {'*' if exponent > 0 else '/'} {power}"
        return text


def _fitted(before: str, expression: str, node: Node) -> list[str]:
    """Return a statement on one line, or on one line per operand where that would be too long."""
    if len(before) + len(expression) <= _WIDTH or not isinstance(node, Product | Sum | Blend):
        return [before + expression]
    operators = r" (?=[*/] )" if isinstance(node, Product) else r" (?=\+ )"
    operands = re.split(operators, expression)
    return [f"{before}(", *(f"    {operand}" for operand in operands), ")"]


def _read(feature: int) -> str:
    value = f"{ARGUMENT}[{feature}]"
    if signed(feature):
        value = f"abs({value})"
    elif centred(feature):
        value = f"1.0 + {value}"
    return f"max({value}, {FLOOR:g})".replace("e-06", "e-6")


def _times(weight: float, name: str) -> str:
    return name if weight == 1.0 else f"{number(weight)} * {name}"


def _power(name: str, exponent: float) -> str:
    if exponent == 1.0:
        return name
    if exponent == 0.5:
        return f"math.sqrt({name})"
    return f"{name}**{int(exponent) if exponent.is_integer() else number(exponent)}"


def _stem(node: Node) -> str:
    roles = list(dict.fromkeys(role_of_feature(index) for index in leaves(node)))
    noun = roles[0] if len(roles) == 1 else "_and_".join(roles[:2])
    match node:
        case Pair() | Squash():
            return f"{_PREFIX[node.kind]}_{noun}"
        case Blend():
            return f"blended_{noun}"
        case Bonus():
            return f"{noun}_bonus"
        case Product():
            return f"{noun}_product" if len(node.factors) > 1 else f"{noun}_power"
        case _:
            return f"{noun}_sum"


def describe(node: Node) -> str:
    """Return what `node` computes, as a formula with the features' names; saturated(x, c) is x / (x + c)."""
    match node:
        case Leaf():
            name = FEATURES[node.feature].name
            return f"|{name}|" if signed(node.feature) else f"(1 + {name})" if centred(node.feature) else name
        case Pair():
            kind = node.kind if node.kind in ("min", "max") else f"{node.kind} mean"
            return f"{kind}({describe(node.left)}, {describe(node.right)})"
        case Blend():
            pair = f"({describe(node.left)}, {describe(node.right)})"
            return f"({node.share:g} max{pair} + {1.0 - node.share:g} min{pair})"
        case Squash(kind="log1p"):
            return f"log(1 + {_scaled(node.scale, node.part)})"
        case Squash(kind="tanh"):
            return f"tanh({_scaled(node.scale, node.part)})"
        case Squash():
            return f"saturated({describe(node.part)}, {node.scale:g})"
        case Bonus():
            return f"(1 + {_scaled(node.weight, node.part)})"
        case Sum():
            return " + ".join(_scaled(weight, part) for part, weight in node.terms)
        case Product():
            text = ""
            for factor, exponent in node.factors:
                power = _powered(factor, abs(exponent))
                sign = "x" if exponent > 0 else "/"
                text = f"{text} {sign} {power}" if text else power if exponent > 0 else f"1 / {power}"
            return text


def _nested(node: Node) -> str:
    return f"({describe(node)})" if isinstance(node, Product | Sum) else describe(node)


def _scaled(weight: float, node: Node) -> str:
    return _nested(node) if weight == 1.0 else f"{weight:g} {_nested(node)}"


def _powered(node: Node, exponent: float) -> str:
    return _nested(node) if exponent == 1.0 else f"{_nested(node)}^{exponent:g}"
