"""Features and their groups."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Cost = Literal["solve", "candidate", "row", "entry"]
"""A group is computed for every column once per solve; or, at every branching, for every candidate, for every row of a
candidate, or for every row of a candidate with sums over all entries of the row."""

Role = str
"""The part that features play in a rule, such as ``gain``."""

SIGNED: Final = -math.inf
"""`Feature.low` of what may be negative without a bound."""

SPREAD: Final = ("mean", "stddev", "min", "max")
Spread = tuple[float, float, float, float]


class Call(NamedTuple):
    """A call of a function of SCIP: the C type it returns, its name, and its arguments."""

    returns: str
    function: str
    arguments: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Call:
        """Parse a call in C with the type of its result before it."""
        if (match := re.fullmatch(r"(\w+) (\w+)\((.*)\)", text)) is None:
            raise ValueError(
                f"an input of a formula is 'fraction' or such as 'int SCIPf(column)', not {text!r}"
            )
        return cls(match[1], match[2], tuple(match[3].split(", ")))


@dataclass(frozen=True, slots=True)
class Group:
    """Features that one pass computes together; a rule that reads no member skips the pass.

    Machine code and C are made of `formula`, which returns the values of the members in their order, and its `inputs`.
    Both stay empty for a group that is folded over rows.
    """

    name: str  # heading of the group in the prompt
    cost: Cost
    role: Role
    formula: Callable[..., tuple[float, ...]] | None = None
    inputs: tuple[str, ...] = ()
    """What the formula takes: ``fraction``, the fractional part of the LP value, or a call in C with the type of its
    result, such as ``int SCIPcolGetIndex(column)``. Arguments are ``scip``, ``column`` and, except once per solve,
    ``variable``, ``UP`` and ``DOWN``; results are ``SCIP_Real``, ``SCIP_Longint`` or ``int``."""

    @property
    def calls(self) -> tuple[Call | None, ...]:
        """The `inputs` as calls; None stands for ``fraction``."""
        return tuple(None if text == "fraction" else Call.of(text) for text in self.inputs)

    def features(self, *rows: tuple[int, str, str], low: float = 0.0) -> tuple[Feature, ...]:
        """Return members of this group from index, name and meaning; `low` is their least value."""
        return tuple(Feature(index, name, self, meaning, low) for index, name, meaning in rows)


@dataclass(frozen=True, slots=True)
class Feature:
    """One column of the feature matrix."""

    index: int  # never given to another feature
    name: str
    group: Group
    meaning: str  # in one clause, what it says about branching on the candidate
    low: float = 0.0  # the least value it can take

    @property
    def static(self) -> bool:
        """Whether the value is taken once per solve."""
        return self.group.cost == "solve"


_WORDS: Final = {
    "count": "number of",
    "sum": "sum over",
    "mean": "mean of",
    "stddev": "population standard deviation of",
    "min": "smallest of",
    "max": "largest of",
}


def statistics(
    first: int, group: Group, prefix: str, what: str, kinds: tuple[str, ...] = SPREAD, low: float = 0.0
) -> Iterator[Feature]:
    """Yield features that are statistics of one collection of values of at least `low`."""
    for index, kind in enumerate(kinds, start=first):
        least = 0.0 if kind in ("count", "stddev") else low
        yield Feature(index, f"{prefix}_{kind}", group, f"{_WORDS[kind]} {what}", least)
