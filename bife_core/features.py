"""The one named table of the 72 branching features.

The extractor, the prompt of the language model, the offline grammar, the documentation and the tests all read
this table, so an index means the same thing everywhere. The features are those of Khalil et al. (2016) in the
order the BiFE paper's listings use; `docs/features.md` gives every definition in terms of SCIP's functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Group(Enum):
    """What one pass over a candidate's column computes together; a rule that reads no member skips the pass."""

    OBJECTIVE = "objective"
    STRUCTURE = "structure"
    FRACTIONALITY = "fractionality"
    PSEUDOCOST = "pseudocost"
    CUTOFF = "cutoff"
    DEGREE = "degree"
    RHS_RATIO = "rhs_ratio"
    ONE_TO_ALL = "one_to_all"
    ACTIVE_UNIT = "active_unit"
    ACTIVE_ROW_SUM = "active_row_sum"
    ACTIVE_CANDIDATE_SUM = "active_candidate_sum"
    ACTIVE_DUAL = "active_dual"


STATIC_GROUPS: Final = frozenset({Group.OBJECTIVE, Group.STRUCTURE})
"""Groups taken once per solve; all others are taken at every branching."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One column of the feature matrix.

    Attributes
    ----------
    index : int
        Position in the feature vector, 0 to 71.
    name : str
        Identifier, unique and stable.
    group : Group
        The pass that computes it.
    meaning : str
        What it says about branching on the candidate, in one clause for people and for the prompt.
    """

    index: int
    name: str
    group: Group
    meaning: str

    @property
    def static(self) -> bool:
        """Whether the value is taken once per solve rather than at every branching."""
        return self.group in STATIC_GROUPS


def _statistics(prefix: str, what: str, kinds: tuple[str, ...]) -> list[tuple[str, str]]:
    words = {
        "count": "number of",
        "sum": "sum over",
        "mean": "mean of",
        "stddev": "population standard deviation of",
        "min": "smallest of",
        "max": "largest of",
    }
    return [(f"{prefix}_{kind}", f"{words[kind]} {what}") for kind in kinds]


_SPREAD = ("mean", "stddev", "min", "max")


def _rows() -> list[tuple[Group, str, str]]:
    rows: list[tuple[Group, str, str]] = [
        (Group.OBJECTIVE, "obj_coef", "objective coefficient of the variable (the solver minimises)"),
        (Group.OBJECTIVE, "obj_coef_pos_part", "objective coefficient if positive, else 0"),
        (Group.OBJECTIVE, "obj_coef_neg_part", "objective coefficient if negative, else 0"),
        (Group.STRUCTURE, "n_rows", "number of LP rows the variable appears in"),
    ]

    def extend(group: Group, named: list[tuple[str, str]]) -> None:
        rows.extend((group, name, meaning) for name, meaning in named)

    extend(Group.STRUCTURE, _statistics("rows_deg", "the root-LP lengths of its rows", _SPREAD))
    extend(Group.STRUCTURE, _statistics("rows_pos_coefs", "its positive coefficients", ("count", *_SPREAD)))
    extend(Group.STRUCTURE, _statistics("rows_neg_coefs", "its negative coefficients", ("count", *_SPREAD)))
    rows += [
        (Group.FRACTIONALITY, "slack", "distance of the LP value to the nearest integer: min(f, 1 - f)"),
        (Group.FRACTIONALITY, "ceil_dist", "distance of the LP value to the next integer above: 1 - f"),
        (
            Group.PSEUDOCOST,
            "pseudocost_up",
            "estimated dual bound gain of the up branch: (1 - f) x up pseudocost",
        ),
        (
            Group.PSEUDOCOST,
            "pseudocost_down",
            "estimated dual bound gain of the down branch: f x down pseudocost",
        ),
        (
            Group.PSEUDOCOST,
            "pseudocost_ratio",
            "smaller over larger of the two estimated gains, between 0 and 1",
        ),
        (Group.PSEUDOCOST, "pseudocost_sum", "sum of the two estimated gains"),
        (Group.PSEUDOCOST, "pseudocost_product", "product of the two estimated gains"),
        (Group.CUTOFF, "n_cutoff_up", "cutoffs seen so far after branching up on the variable"),
        (Group.CUTOFF, "n_cutoff_down", "cutoffs seen so far after branching down on the variable"),
        (Group.CUTOFF, "n_cutoff_up_ratio", "cutoffs per up branching of the variable (0 before the first)"),
        (
            Group.CUTOFF,
            "n_cutoff_down_ratio",
            "cutoffs per down branching of the variable (0 before the first)",
        ),
    ]
    extend(Group.DEGREE, _statistics("rows_dynamic_deg", "the current-LP lengths of its rows", _SPREAD))
    rows += [
        (Group.DEGREE, "rows_dynamic_deg_mean_ratio", "current mean length / (root mean length + current)"),
        (
            Group.DEGREE,
            "rows_dynamic_deg_min_ratio",
            "current smallest length / (root smallest length + current)",
        ),
        (
            Group.DEGREE,
            "rows_dynamic_deg_max_ratio",
            "current largest length / (root largest length + current)",
        ),
    ]
    for sign, side in (("pos", "nonnegative"), ("neg", "negative")):
        for kind, word in (("min", "smallest"), ("max", "largest")):
            meaning = f"{word} of coefficient / (|coefficient| + |rhs|) over rows with {side} right-hand side"
            rows.append((Group.RHS_RATIO, f"coef_{sign}_rhs_ratio_{kind}", meaning))
    for own in ("pos", "neg"):
        for others in ("pos", "neg"):
            for kind, word in (("min", "smallest"), ("max", "largest")):
                meaning = f"{word} share of its {own}. coefficient against the row's {others}. coefficients"
                rows.append((Group.ONE_TO_ALL, f"{own}_coef_{others}_coef_ratio_{kind}", meaning))
    weights = (
        (Group.ACTIVE_UNIT, "1"),
        (Group.ACTIVE_ROW_SUM, "1 / sum of the row's |coefficients|"),
        (Group.ACTIVE_CANDIDATE_SUM, "1 / sum of the row's |coefficients| over unfixed integer variables"),
        (Group.ACTIVE_DUAL, "|dual value of the row|"),
    )
    for number, (group, weight) in enumerate(weights, start=1):
        prefix = f"active_coef_weight{number}"
        rows.append(
            (group, f"{prefix}_count", f"sum of weights of its active (tight) rows; weight = {weight}")
        )
        what = f"weight x |its coefficient| over its active (tight) rows; weight = {weight}"
        extend(group, _statistics(prefix, what, ("sum", *_SPREAD)))
    return rows


FEATURES: Final[tuple[Feature, ...]] = tuple(
    Feature(index, name, group, meaning) for index, (group, name, meaning) in enumerate(_rows())
)
"""The ordered table: `FEATURES[i]` describes column i of every feature matrix."""

N_FEATURES: Final = len(FEATURES)

_BY_NAME: Final = {feature.name: feature.index for feature in FEATURES}


def feature_index(name: str) -> int:
    """Return the column of the feature called `name`.

    Raises
    ------
    KeyError
        If no feature has that name.

    Examples
    --------
    >>> feature_index("pseudocost_product")
    24
    """
    return _BY_NAME[name]


def groups_of(indices: frozenset[int] | None) -> frozenset[Group]:
    """Return the passes needed to compute the given columns (all passes for None)."""
    if indices is None:
        return frozenset(Group)
    return frozenset(FEATURES[index].group for index in indices)
