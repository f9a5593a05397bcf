"""What a feature and a group of features are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Cost = Literal["solve", "candidate", "row", "entry"]
"""What a group is computed for: every column once per solve; or, at every branching, every candidate, every row of a
candidate, or every row of a candidate with sums over all entries of the row."""

Role = str
"""What features are good for in a rule, such as ``gain``: parts of a hand-made rule have different roles."""

SIGNED: Final = -math.inf
"""`Feature.low` of what may be negative without a bound."""

SPREAD: Final = ("mean", "stddev", "min", "max")
Spread = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Group:
    """Features that one pass computes together; a rule that reads no member skips the pass."""

    name: str  # heading of the group in the prompt
    cost: Cost
    role: Role

    def features(self, *rows: tuple[int, str, str], low: float = 0.0) -> tuple[Feature, ...]:
        """Return members of this group from their index, name and meaning; none takes a value below `low`."""
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
        """Whether the value is taken once per solve rather than at every branching."""
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
    """Yield features that are statistics of one collection of values, of which none is below `low`."""
    for index, kind in enumerate(kinds, start=first):
        least = 0.0 if kind in ("count", "stddev") else low
        yield Feature(index, f"{prefix}_{kind}", group, f"{_WORDS[kind]} {what}", least)
