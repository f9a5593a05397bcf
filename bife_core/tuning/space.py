"""What is tuned: the table `space.csv` and classes of rows and variables, and how choices become a configuration."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, starmap
from pathlib import Path
from typing import Final, TypeAlias

from bife_core.base.errors import ConfigError
from bife_core.base.values import Value
from bife_core.solver.methods.attach import start_of
from bife_core.solver.methods.base import RPB, Method
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.emphases import EMPHASES, of_emphases
from bife_core.solver.scip.row_classes import PREFIX
from bife_core.solver.scip.settings import Parameter, settings_in, usual_parameters
from bife_core.solver.scip.variable_classes import PREFIX as VARIABLES
from bife_core.solver.starts.method import StartMethod

TABLE: Final = Path(__file__).with_name("space.csv")

Choices: TypeAlias = dict[str, str]
"""What is chosen in the rows that are not at their first choice, by the name of the row."""

BRANCHING: Final = "branching"
"""The row whose choices are methods."""

ROWS: Final = "rows on demand"
"""The group of the rows that are named as a class of rows is."""

ON_DEMAND: Final = "on_demand"
"""The choice to keep a class of rows out of the first LP."""

ORDERS: Final = "order of branching"
"""The group of the rows that are named as a class of variables is."""

FIRST: Final = "first"
"""The choice to branch on a class of variables before others."""

_BY_CLASS: Final = {PREFIX: (ROWS, "first_lp", ON_DEMAND), VARIABLES: (ORDERS, "any", FIRST)}
"""The group and the choices of a class, by the beginning of its name."""

_IN_WORDS: Final = {ON_DEMAND: "on demand", FIRST: "first"}

_SEPARATORS: Final = {
    # What these separate counts as that of others, which have to be on too.
    "gomory": tuple(f"separating/{name}/freq = 0" for name in ("gomory", "gomorymi", "strongcg")),
    "aggregation": tuple(
        f"separating/{name}/freq = 0" for name in ("aggregation", "cmir", "flowcover", "knapsackcover")
    ),
    "cmir": tuple(f"separating/{name}/freq = 0" for name in ("aggregation", "cmir")),
    "knapsack": ("constraints/knapsack/sepafreq = 0",),
    # By its defaults it gives up after ten rounds, or three without cuts; with more, half of the nodes are left. Of its
    # two heuristics it prefers the worse one (`findings/scip-odd-cycle-heuristic.sh`).
    "oddcycle": (
        "separating/oddcycle/freq = 0",
        "separating/oddcycle/maxroundsroot = -1",
        "separating/oddcycle/maxunsucessfull = 10",
        "separating/oddcycle/usegls = FALSE",
    ),
}
"""What turns a separator on at the root; for others it is their frequency."""

KEPT: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "rounding": {
        "simple": ("simplerounding",),
        "more": ("simplerounding", "rounding"),
        "all": ("simplerounding", "rounding", "shifting", "zirounding", "oneopt"),
    },
    "rens": {"root": ("rens",)},
}
"""The heuristics that keep their usual frequencies where others are off, by row and choice."""

INEQUALITIES: Final = "inequalities"
"""The row of inequalities that are written, and its group."""

IMPLIED_FREE: Final = "implied_free"
"""The row of the variables that presolving aggregates beside SCIP's."""

FROM_INSTANCES: Final = frozenset({ROWS, ORDERS, INEQUALITIES, "presolving"})
"""The groups with rows that only some families have."""

START: Final = "start"
"""The row whose choices are start methods, but for the first."""

SEARCH: Final = "local_search"
"""The start method that proposes nothing for many families."""

FOUND: Final = "found"
"""The choice of what a search found."""


class FamilyFacts(Value):
    """Large `classes` of rows and variables, each with an example, and what instances have.

    Whether rows are `knapsacks`, a local search has moves, and variables of equations are `implied_free`.
    """

    classes: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it
    knapsacks: bool = False
    searchable: bool = False
    implied_free: bool = False


@dataclass(frozen=True)
class Row:
    """One row: a parameter of SCIP, several at once, what branches, a start, inequalities, a class.

    Its first choice is SCIP's default. It counts where its condition holds, such as ``emphasis != hardlp, branching =
    pscost gomory``, or one of several with ``|`` between them.
    """

    group: str
    name: str
    choices: tuple[str, ...]
    conditions: tuple[tuple[tuple[str, bool, tuple[str, ...]], ...], ...]
    description: str

    def counts(self, chosen: Mapping[str, str]) -> bool:
        """Whether a condition of the row holds under what is chosen, by name, in the rows before it."""
        return any(
            all((chosen[name] in values) is wanted for name, wanted, values in condition)
            for condition in self.conditions
        )


class Space:
    """The rows that are tuned: those of some `groups`, or all, but for `fixed` rows and parameters of SCIP.

    `methods` may branch, by the name of the choice, RPB always and first; a configuration's start may start. By the
    `facts` each large class of rows is in the first LP or on demand, each of variables branched on first or not, and
    inequalities and implied free variables are tuned where there are any. Unknown names are a `ConfigError`.
    """

    def __init__(
        self,
        methods: Mapping[str, Method],
        groups: Collection[str] = (),
        fixed: Collection[str] = (),
        facts: FamilyFacts | None = None,
    ) -> None:
        unread, facts = facts is None, facts or FamilyFacts()
        idle = () if unread or facts.searchable else (SEARCH,)
        self.knapsacks, self.implied_free = facts.knapsacks, facts.implied_free
        rows = (*table(), *starmap(_of_class, facts.classes.items()))
        every = dict.fromkeys((*(row.group for row in rows), ROWS, ORDERS))
        if unknown := [group for group in groups if group not in every]:
            raise ConfigError(f"There is no group {unknown[0]!r} to tune; choose of {', '.join(every)}.")
        names = usual_parameters().keys() | {row.name for row in rows}
        if unknown := [name for name in fixed if name not in names and not is_class(name)]:
            raise ConfigError(f"There is no {unknown[0]!r} to leave as it is in SCIP or the table.")
        self.starts = {name: start for name, of in methods.items() if (start := start_of(of)) is not None}
        self.methods = {
            name: of for name, of in methods.items() if of.identity != RPB and name not in self.starts
        }
        self.fixed = frozenset(fixed)
        idle_rows = {INEQUALITIES: facts.knapsacks, IMPLIED_FREE: facts.implied_free}
        without = self.fixed | {name for name, counts in idle_rows.items() if not (unread or counts)}
        further = {BRANCHING: (RPB, *self.methods), START: (*self.starts,)}
        self.rows = tuple(
            replace(
                row,
                choices=(
                    *(each for each in row.choices if each and each not in idle),
                    *further.get(row.name, ()),
                ),
            )
            for row in rows
            if (not groups or row.group in groups) and row.name not in without
        )
        # What is not tuned is at its first choice where a condition asks for it.
        self._usual = {row.name: row.choices[0] or RPB for row in rows}

    def offers(self, choices: Mapping[str, str]) -> bool:
        """Whether its rows have these choices, as far as it has the rows."""
        return all(choices.get(row.name, row.choices[0]) in row.choices for row in self.rows)

    def counting(self, choices: Mapping[str, str]) -> Choices:
        """Return the choices that count and are not a row's first; a `ConfigError` says if a row has no such choice."""
        chosen = dict(self._usual)
        for row in self.rows:
            choice = choices.get(row.name)
            if choice is not None and choice not in row.choices:
                raise ConfigError(f"{row.name} is no {choice!r}; choose of {', '.join(row.choices)}.")
            if choice is not None and row.counts(chosen):
                chosen[row.name] = choice
        return {row.name: chosen[row.name] for row in self.rows if chosen[row.name] != self._usual[row.name]}

    def configuration(self, choices: Mapping[str, str]) -> Configuration:
        """Return the configuration that some choices make."""
        chosen = self.counting(choices)
        parts_of = (START, INEQUALITIES, IMPLIED_FREE)
        single = {name: of for name, of in settings_of(chosen).items() if name not in parts_of}
        on_demand, first = (tuple(name for name in single if name.startswith(begin)) for begin in _BY_CLASS)
        expanded = _expanded(tuple((name, of) for name, of in single.items() if not is_class(name)))
        params = {key: of for key, of in expanded.items() if key not in self.fixed}
        parts: dict[str, Value | str] = {}
        if (branching := self.methods.get(chosen.get(BRANCHING, RPB))) is not None:
            parts["branching"] = branching
        if (name := chosen.get(START)) is not None:
            parts["start"] = self.starts.get(name) or StartMethod(name=name)
        parts |= {name: chosen[name] for name in (INEQUALITIES, IMPLIED_FREE) if name in chosen}
        return Configuration(params=params, on_demand=on_demand, first=first).model_copy(update=parts)


@lru_cache(maxsize=1)
def table() -> tuple[Row, ...]:
    """Return all rows in order; conditions refer to rows before."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(
            Row(group, name, tuple(choices.split(" | ")), _conditions(conditions), description)
            for group, name, choices, conditions, description in islice(csv.reader(file), 1, None)
        )


def choices_text(choices: Mapping[str, str]) -> str:
    """Return choices as a person reads them, such as ``separating off, lp/pricing = d``."""
    each = (
        f"{name} {_IN_WORDS.get(value, value)}"
        if is_class(name)
        else f"{name} = {value}"
        if "/" in name
        else f"{name} {value}"
        for name, value in choices.items()
    )
    return ", ".join(each) or "SCIP default settings"


def is_class(name: str) -> bool:
    """Whether a row is named as a class of rows or of variables."""
    return name.startswith(tuple(_BY_CLASS))


def _of_class(name: str, about: str) -> Row:
    group, *choices = next(of for begin, of in _BY_CLASS.items() if name.startswith(begin))
    return Row(group, name, tuple(choices), _conditions(""), about)


def _conditions(text: str) -> tuple[tuple[tuple[str, bool, tuple[str, ...]], ...], ...]:
    return tuple(tuple(_condition(each)) for each in text.split(" | "))


def _condition(text: str) -> Iterable[tuple[str, bool, tuple[str, ...]]]:
    for part in filter(None, text.split(", ")):
        name, sign, *values = part.split()
        yield name, sign == "=", tuple(values)


def settings_of(chosen: Mapping[str, str]) -> Choices:
    """Return choices but for what branches."""
    return {name: value for name, value in chosen.items() if name != BRANCHING}


@lru_cache(maxsize=1024)
def _expanded(chosen: tuple[tuple[str, str], ...]) -> dict[str, Parameter]:
    """Return the parameters of SCIP that choices set to other values than its defaults."""
    changed = dict(of_emphases(tuple(each for each in chosen if each[0] in EMPHASES)))
    lines = list[str]()
    for name, value in chosen:
        if name == "separators":
            for separator in value.split("+"):
                lines += _SEPARATORS.get(separator, (f"separating/{separator}/freq = 0",))
        elif name in KEPT:
            for heuristic in KEPT[name][value]:
                changed.pop(f"heuristics/{heuristic}/freq", None)
        elif name == "nodeselection":
            lines.append(f"nodeselection/{value}/stdpriority = 1000000")
        elif name not in EMPHASES:
            lines.append(f"{name} = {value}")
    single, usual = settings_in("\n".join(lines), "the table of settings"), usual_parameters()
    for line in lines:
        name = line.partition(" = ")[0]
        # A single parameter at SCIP's default is one that an emphasis would set otherwise.
        changed[name] = single.get(name, usual[name])
    return {name: value for name, value in changed.items() if value != usual[name]}
