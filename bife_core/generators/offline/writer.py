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


def write_skeleton(root: Node) -> str:
    """Return the source of the skeleton of `root`: its numbers are parameters, with bounds around them.

    The first exponent of a product stays as it is, for `settled` makes it 1: only the others change decisions.

    Examples
    --------
    >>> from bife_core.generators.offline.expression import Leaf, product
    >>> print(write_skeleton(product((Leaf(18), 1.0), (Leaf(24), 0.5))).splitlines()[0])
    BOUNDS = {"pseudocost_product_exponent": (0.125, 2.0)}
    """
    writer = _Writer(lifting=True)
    result = writer.expression(root)
    docstring = textwrap.wrap(
        f'"""Score, before any tuning = {describe(root)}."""',
        _WIDTH,
        break_long_words=False,
        break_on_hyphens=False,
    )
    lines = [*docstring, *writer.reads.values(), *writer.lines, *_fitted("return ", result, root)]
    body = textwrap.indent("\n".join(lines), "    ")
    entries = [f'"{name}": ({number(low)}, {number(high)})' for name, (_, low, high) in writer.lifted.items()]
    bounds = "BOUNDS = {" + ", ".join(entries) + "}"
    if len(bounds) > _WIDTH:
        bounds = "BOUNDS = {\n" + "".join(f"    {entry},\n" for entry in entries) + "}"
    arguments = [ARGUMENT, *(f"{name}={number(value)}" for name, (value, _, _) in writer.lifted.items())]
    head = "import math\n\n" if "math." in body else ""
    signature = f"def candidate_variable_score({', '.join(arguments)}) -> float:"
    if len(signature) > _WIDTH:
        listed = "".join(f"    {argument},\n" for argument in arguments)
        signature = f"def candidate_variable_score(\n{listed}) -> float:"
    return f"{head}{bounds}\n\n\n{signature}\n{body}\n"


_RANGE: Final = {"exponent": 4.0, "factor": 10.0, "scale": 10.0}
"""How far a parameter may move from its value, down and up, as a ratio."""


class _Writer:
    """Gives every part with parts of its own a name and a line.

    Parameters
    ----------
    lifting : bool
        Whether numbers become names in `lifted`, with their value and bounds, instead of literals.
    """

    def __init__(self, *, lifting: bool = False) -> None:
        self.reads: dict[int, str] = {}
        self.lines: list[str] = []
        self.lifted: dict[str, tuple[float, float, float]] = {}
        self._lifting = lifting
        self._names: dict[Node, str] = {}

    def _literal(self, value: float, kind: str, owner: str) -> str:
        """Return how `value` is written: its digits, or the name of the parameter it becomes."""
        if not self._lifting:
            return number(value)
        stem = f"{owner}_{kind}"
        name = next(n for n in (stem, *(f"{stem}_{i}" for i in range(2, 100))) if n not in self.lifted)
        low, high = (0.0, 1.0) if kind == "share" else (value / _RANGE[kind], value * _RANGE[kind])
        self.lifted[name] = (value, float(f"{low:.4g}"), float(f"{high:.4g}"))
        return name

    def _times(self, weight: float, name: str, kind: str = "factor") -> str:
        return name if weight == 1.0 else f"{self._literal(weight, kind, name)} * {name}"

    def _power(self, name: str, exponent: float) -> str:
        if exponent == 1.0 or not self._lifting:
            return _power(name, exponent)
        return f"{name} ** {self._literal(exponent, 'exponent', name)}"

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
                share = self._literal(node.share, "share", _stem(node))
                rest = f"(1.0 - {share})" if self._lifting else number(round(1.0 - node.share, 6))
                return f"{share} * max{pair} + {rest} * min{pair}"
            case Squash(kind="saturation"):
                part = self.name(node.part)
                return f"{part} / ({part} + {self._literal(node.scale, 'scale', part)})"
            case Squash():
                return f"math.{node.kind}({self._times(node.scale, self.name(node.part), 'scale')})"
            case Bonus():
                part = self.name(node.part)
                return f"1.0 + {self._literal(node.weight, 'factor', part)} * {part}"
            case Sum():
                return " + ".join(self._times(weight, self.name(part)) for part, weight in node.terms)
            case Product():
                return self._product(node)

    def _product(self, node: Product) -> str:
        # Factors keep their order when read back: division by one factor after another, not by a product.
        text = ""
        for part, exponent in node.factors:
            power = self._power(self.name(part), abs(exponent))
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
