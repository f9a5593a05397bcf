"""What a tuning tries first: settings, starts, rows on demand and orders that paid on other families, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bife_core.solver.methods.base import RPB
from bife_core.tuning.space import (
    BRANCHING,
    FIRST,
    IMPLIED_FREE,
    INEQUALITIES,
    KEPT,
    ON_DEMAND,
    ORDERS,
    ROWS,
    SEARCH,
    START,
    Choices,
    Space,
    is_class,
)

_FEW_TRIES: Final[Choices] = {
    "separating/aggregation/maxtriesroot": "50",
    "separating/aggregation/maxfailsroot": "10",
}

_LEAN: Final[Choices] = {"separating": "off", "heuristics": "off"}

_RENS: Final[Choices] = {"rens": "root"}

_AT_ROOT: Final[Choices] = {**_FEW_TRIES, "separating/maxrounds": "0"}
"""Cuts at the root alone, without long looking for those of aggregated rows, on which SCIP spends most of its root."""

FEW_ROUNDS: Final[Choices] = {
    **_FEW_TRIES,
    **_RENS,
    "heuristics": "off",
    "separating/maxroundsroot": "5",
    "separating/maxrounds": "1",
}
"""What is tried early where solves are long: the root costs little, and its bound is nearly that of many rounds, while
without any cuts the tree may never end. By the solution of RENS many columns are fixed, which restarts take out.
"""

STARTING_SETTINGS: Final[tuple[Choices, ...]] = (
    _LEAN,
    {**_AT_ROOT, "heuristics": "off"},
    # One kind of cuts may be all that is worth its time: on independent sets that of cliques and odd cycles, on network
    # design that of mixed-integer rounding, if it may look long for rows to aggregate.
    {**_LEAN, "separators": "clique+oddcycle"},
    {**_LEAN, "separators": "cmir", "separating/maxroundsroot": "10"},
    {**_LEAN, INEQUALITIES: "knapsack"},
    {**_AT_ROOT, "heuristics": "off", "separating/maxroundsroot": "5"},
    {**_LEAN, "separators": "gomory"},
    _AT_ROOT,
    {},
    {"heuristics": "off"},
    {"separating": "off"},
    {"presolving/maxrestarts": "0"},
    {"emphasis": "feasibility"},
    {"emphasis": "optimality"},
)
"""What is tried first; `WITH_EVERY_METHOD` with each that may branch, the others with the best one by then."""

_RESTRICTED: Final[Choices] = {START: "restricted"}

BASIS: Final = "lp/rowrepswitch"
"""The row that says whether the LP's basis is by rows or by columns."""

CARRIED: Final = frozenset({BRANCHING, BASIS, *KEPT})
"""Rows in which whatever is tried has the choice of what is best by then."""

_ROUNDING: Final[Choices] = {"rounding": "simple"}

_KEEPING: Final[tuple[Choices, ...]] = (_RENS, _ROUNDING)

_AT_ONCE: Final[tuple[Choices, ...]] = (*_KEEPING, {BASIS: "0"}, {BASIS: "-1"})
"""What nearly any settings gain or lose from alike: where all other heuristics are off, RENS, which is called once, and
the rounding that costs little; and a basis of the LP by rows or by columns. On facility location RENS took off a third
of the time, on network design rounding and rows a fifth each.
"""

_LATER: Final[tuple[Choices, ...]] = (
    {START: SEARCH},
    _RESTRICTED,
    {"lp/pricing": "q", "propagating/pseudoobj/freq": "-1"},
)

BESIDE_THE_BEST: Final[tuple[Choices, ...]] = (*_AT_ONCE, *_LATER)
"""What is tried beside all that is best by then: further starts, since without heuristics a solution may come late;
where nodes are cheap, LPs that start faster and less propagation.
"""

FEWER_VARIABLES: Final[Choices] = {IMPLIED_FREE: "continuous"}
"""So is this, where presolving can aggregate implied free variables."""

_NO_RESTARTS: Final[Choices] = {"presolving/maxrestarts": "0"}

LEAN: Final[tuple[Choices, ...]] = (
    {**_NO_RESTARTS, **_FEW_TRIES, "heuristics": "off"},
    {**_FEW_TRIES, "heuristics": "off", "separating/maxrounds": "1", **_RENS},
    {**_NO_RESTARTS, "separating": "fast", "heuristics": "off"},
)
"""What the largest class of rows is tried on demand with; the other classes with the first."""

WITH_EVERY_METHOD: Final[tuple[Choices, ...]] = (*STARTING_SETTINGS[:2], {})


def beside_the_best(choices: Choices) -> bool:
    """Whether choices are tried together with all that is best by then."""
    return choices in (*BESIDE_THE_BEST, FEWER_VARIABLES) or all(map(is_class, choices))


def tried_first(starts: Sequence[Choices], space: Space, long: bool, primal: bool) -> list[Choices]:
    """Return what is tried after `starts`: `STARTING_SETTINGS`, with methods that no start names, and what follows.

    Choices are tried with what is best so far in the rows that are `CARRIED`, unless they name them. What only some
    families have comes after the methods without cuts, whose cost ends it early; where solves are long, so that few are
    tried, after the first of them and a few rounds of cuts. Beside what is best by then, fewer variables are tried, and
    a start if solves are long; then the largest class of rows on demand, each class of variables branched on first, and
    further rows on demand, which are also put on demand beside what is best. Where rows are knapsacks their facets come
    before all that, since SCIP without any cuts may take so long on such rows that no time is left for more. Where
    solves are compared by their objectives, start methods come before all. RENS and rounding come again at the end, for
    what became the best without other heuristics after they came first.
    """
    named = {start.get(BRANCHING) for start in starts}
    methods = [name for name in (*space.methods, RPB) if name not in named]
    further = [
        choices
        for start in STARTING_SETTINGS
        for choices in (
            [{**start, BRANCHING: name} for name in methods] if start in WITH_EVERY_METHOD else [start]
        )
    ]
    classes = [row.name for row in space.rows if row.group == ROWS]
    branching = {BRANCHING: "pscost"} if "pscost" in space.methods else {}
    largest = [{**settings, **branching, name: ON_DEMAND} for name in classes[:1] for settings in LEAN]
    others = [{**LEAN[0], **branching, name: ON_DEMAND} for name in classes[1:]]
    alone: list[Choices] = [{name: ON_DEMAND} for name in classes]
    fewer = [FEWER_VARIABLES] if space.implied_free else []
    orders: list[Choices] = [{row.name: FIRST} for row in space.rows if row.group == ORDERS]
    first = len(methods)
    facets = [
        {**start, **branching} for start in STARTING_SETTINGS if INEQUALITIES in start and space.knapsacks
    ]
    before = min(1, first) if long and (classes or fewer or orders) else first
    rounds = [{**FEW_ROUNDS, BRANCHING: name} for name in methods[:1] if long]
    begin = [*facets, *further[:before], *rounds]
    beside = [*fewer, *[_RESTRICTED] * long]
    proposing = [start for start in BESIDE_THE_BEST if START in start and primal]
    if long:
        rest = [*BESIDE_THE_BEST, *further[before:]]
    else:
        rest = [*further[before : 2 * first], *_AT_ONCE, *further[2 * first :], *_LATER]
    every = [*proposing, *begin, *beside, *largest, *orders, *others, *alone, *rest, *_KEEPING]
    return [choices for choices in every if space.offers(choices)]
