"""From a syntax tree to readable Python, and to a sentence that says what it computes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Container, Iterable
from typing import Final

from bife_core.features import FEATURES
from bife_core.generators.offline.expression import (
    FLOOR,
    Kind,
    Leaf,
    Node,
    Operation,
    centred,
    leaves,
    role_of_feature,
    signed,
)

ARGUMENT: Final = "variable_features"

_SPELLINGS: Final[dict[Kind, tuple[str, str, str]]] = {
    "min": ("min({0}, {1})", "min({0}, {1})", "smaller_{}"),
    "max": ("max({0}, {1})", "max({0}, {1})", "larger_{}"),
    "geometric": ("math.sqrt({0} * {1})", "geometric mean({0}, {1})", "geometric_{}"),
    "harmonic": ("2.0 / (1.0 / {0} + 1.0 / {1})", "harmonic mean({0}, {1})", "harmonic_{}"),
    "blend": (
        "{number} * max({0}, {1}) + {rest} * min({0}, {1})",
        "({number} max({0}, {1}) + {rest} min({0}, {1}))",
        "blended_{}",
    ),
    "log1p": ("math.log1p({scaled})", "log(1 + {scaled})", "log_{}"),
    "tanh": ("math.tanh({scaled})", "tanh({scaled})", "bounded_{}"),
    "saturation": ("{0} / ({0} + {number})", "saturated({0}, {number})", "saturated_{}"),
    "bonus": ("1.0 + {number} * {0}", "(1 + {scaled})", "{}_bonus"),
}
"""How an operation is written in Python and in a formula, and what its variable is called after its parts' role."""

_WIDTH: Final = 98


def write(root: Node) -> str:
    """Return the source of the rule that computes `root`.

    Examples
    --------
    >>> from bife_core.generators.offline.expression import Leaf
    >>> print(write(Leaf(18)).splitlines()[-1].strip())
    return slack
    """
    writer = _Writer()
    body = writer.body("Score", root)
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
    body = writer.body("Score, before any tuning", root)
    bounds = [f'"{name}": ({low!r}, {high!r})' for name, (_, low, high) in writer.lifted.items()]
    arguments = [ARGUMENT, *(f"{name}={value!r}" for name, (value, _, _) in writer.lifted.items())]
    head = "import math\n\n" if "math." in body else ""
    signature = _listed("def candidate_variable_score(", arguments, ") -> float:")
    return f"{head}{_listed('BOUNDS = {', bounds, '}')}\n\n\n{signature}\n{body}\n"


def _listed(before: str, items: list[str], after: str) -> str:
    """Return a list on one line, or on one line per item where that would be too long."""
    line = before + ", ".join(items) + after
    return (
        line if len(line) <= _WIDTH else f"{before}\n" + "".join(f"    {item},\n" for item in items) + after
    )


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

    def body(self, what: str, root: Node) -> str:
        """Return the lines of the function: what it computes, the features it reads, and the way to its result."""
        result = self.expression(root)
        sentence = f'"""{what} = {describe(root)}."""'
        docstring = textwrap.wrap(sentence, _WIDTH, break_long_words=False, break_on_hyphens=False)
        lines = [*docstring, *self.reads.values(), *self.lines, *_fitted("return ", result, root)]
        return textwrap.indent("\n".join(lines), "    ")

    def name(self, node: Node) -> str:
        """Return the name of the variable that holds `node`, writing its line first if there is none yet."""
        if node in self._names:
            return self._names[node]
        if isinstance(node, Leaf):
            name = FEATURES[node.feature].name
            self.reads[node.feature] = f"{name} = {_read(node.feature)}"
        else:
            expression = self.expression(node)
            name = _free(_stem(node), set(self._names.values()))
            self.lines += _fitted(f"{name} = ", expression, node)
        self._names[node] = name
        return name

    def expression(self, node: Node) -> str:
        if isinstance(node, Leaf):
            return self.name(node)
        weighed = zip(node.parts, node.numbers, strict=False)
        if node.kind == "sum":
            return " + ".join(self._times(weight, self.name(part)) for part, weight in weighed)
        if node.kind == "product":
            # Factors keep their order when read back: division by one factor after another, not by a product.
            powers = ((self._power(self.name(part), abs(power)), power > 0) for part, power in weighed)
            return _product(powers, "*", "1.0")
        names = [self.name(part) for part in node.parts]
        (code, _, _), (value,) = _SPELLINGS[node.kind], node.numbers or (1.0,)
        match node.kind:
            case "blend":
                share = self._literal(value, "share", _stem(node))
                rest = f"(1.0 - {share})" if self._lifting else repr(round(1.0 - value, 6))
                return code.format(*names, number=share, rest=rest)
            case "log1p" | "tanh":
                return code.format(scaled=self._times(value, names[0], "scale"))
            case "saturation":
                return code.format(*names, number=self._literal(value, "scale", names[0]))
            case "bonus":
                return code.format(*names, number=self._literal(value, "factor", names[0]))
        return code.format(*names)

    def _literal(self, value: float, kind: str, owner: str) -> str:
        """Return how `value` is written: its digits, or the name of the parameter it becomes."""
        if not self._lifting:
            return repr(value)
        name = _free(f"{owner}_{kind}", self.lifted)
        low, high = (0.0, 1.0) if kind == "share" else (value / _RANGE[kind], value * _RANGE[kind])
        self.lifted[name] = (value, float(f"{low:.4g}"), float(f"{high:.4g}"))
        return name

    def _times(self, weight: float, name: str, kind: str = "factor") -> str:
        return name if weight == 1.0 else f"{self._literal(weight, kind, name)} * {name}"

    def _power(self, name: str, exponent: float) -> str:
        if exponent == 1.0:
            return name
        if self._lifting:
            return f"{name} ** {self._literal(exponent, 'exponent', name)}"
        if exponent == 0.5:
            return f"math.sqrt({name})"
        return f"{name}**{int(exponent) if exponent.is_integer() else exponent!r}"


def _free(stem: str, taken: Container[str]) -> str:
    """Return a name that is not taken: the stem, or the stem with the first number that makes it one."""
    return next(name for name in (stem, *(f"{stem}_{i}" for i in range(2, 100))) if name not in taken)


def _product(powers: Iterable[tuple[str, bool]], times: str, one: str) -> str:
    """Return a product of what is multiplied (True) and what is divided by (False)."""
    text = ""
    for power, multiplied in powers:
        if text:
            text += f" {times if multiplied else '/'} {power}"
        else:
            text = power if multiplied else f"{one} / {power}"
    return text


def _fitted(before: str, expression: str, node: Node) -> list[str]:
    """Return a statement on one line, or on one line per operand where that would be too long."""
    if len(before) + len(expression) <= _WIDTH:
        return [before + expression]
    match node:
        case Operation("product"):
            operators = r" (?=[*/] )"
        case Operation("sum" | "blend"):
            operators = r" (?=\+ )"
        case _:
            return [before + expression]
    return [f"{before}(", *(f"    {operand}" for operand in re.split(operators, expression)), ")"]


def _read(feature: int) -> str:
    value = f"{ARGUMENT}[{feature}]"
    if signed(feature):
        value = f"abs({value})"
    elif centred(feature):
        value = f"1.0 + {value}"
    return f"max({value}, {FLOOR:g})".replace("e-06", "e-6")


def _stem(node: Operation) -> str:
    roles = dict.fromkeys(role_of_feature(index) for index in leaves(node))
    noun = "_and_".join(list(roles)[:2])
    if node.kind == "sum":
        return f"{noun}_sum"
    if node.kind == "product":
        return f"{noun}_product" if len(node.parts) > 1 else f"{noun}_power"
    return _SPELLINGS[node.kind][2].format(noun)


def describe(node: Node) -> str:
    """Return what `node` computes, as a formula with the features' names; saturated(x, c) is x / (x + c)."""
    if isinstance(node, Leaf):
        name = FEATURES[node.feature].name
        return f"|{name}|" if signed(node.feature) else f"(1 + {name})" if centred(node.feature) else name
    weighed = zip(node.parts, node.numbers, strict=False)
    if node.kind == "sum":
        return " + ".join(_scaled(weight, part) for part, weight in weighed)
    if node.kind == "product":
        return _product(((_powered(part, abs(power)), power > 0) for part, power in weighed), "x", "1")
    (_, formula, _), (value,) = _SPELLINGS[node.kind], node.numbers or (1.0,)
    words = {"number": f"{value:g}", "rest": f"{1.0 - value:g}", "scaled": _scaled(value, node.parts[0])}
    return formula.format(*map(describe, node.parts), **words)


def _nested(node: Node) -> str:
    single = isinstance(node, Leaf) or node.kind not in ("product", "sum")
    return describe(node) if single else f"({describe(node)})"


def _scaled(weight: float, node: Node) -> str:
    return _nested(node) if weight == 1.0 else f"{weight:g} {_nested(node)}"


def _powered(node: Node, exponent: float) -> str:
    return _nested(node) if exponent == 1.0 else f"{_nested(node)}^{exponent:g}"
