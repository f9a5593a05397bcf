"""A series of instances: each solve's configuration and starts are chosen by the results of the solves before."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyscipopt

from bife_core.base.arguments import checked
from bife_core.base.errors import ConfigError, InterruptedSolveError, RuleError, SolverError
from bife_core.base.values import Value
from bife_core.base.wording import counted
from bife_core.instances.base import digest_of_file
from bife_core.solver.methods.attach import solve_model
from bife_core.solver.methods.base import Method, ScipMethod
from bife_core.solver.methods.references import AnyReference, load_method
from bife_core.solver.scip.branching import check_free
from bife_core.solver.scip.libscip import plugins
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.settings import foremost, own_rule, usual_parameters
from bife_core.solver.scip.solutions import solution_of
from bife_core.solver.scip.solve import INTERRUPTED, PROVEN, SolveResult, SolveSettings, TreeClocks, apply
from bife_core.store import Store
from bife_core.store.home import project_home
from bife_core.tuning.series.bandit import choose_arm
from bife_core.tuning.series.starts import STARTS, give_solutions
from bife_core.tuning.space import BRANCHING, Choices, Space, choices_text

PORTFOLIO: Final[tuple[Choices, ...]] = (
    {"separating": "fast", BRANCHING: "general"},
    {"separating": "off"},
    {"separating": "fast", BRANCHING: "pscost"},
)
"""What is tried beside the default settings."""

NO_STARTS: Final = "no starts"

Note = Callable[[str], object]


class SeriesSolve(Value):
    """A solve of a series: of the file or model `instance`, with the configuration `arm`, chosen for a `reason`.

    `key` is the digest of the file's content, empty for a model, and `under` that of the settings. `started` says
    whether earlier solutions were given, `starts` which, or why none. `cost` is from 0 to 3, see `cost_of`, and
    `solution_at` the number of the event with the best solution (`Series.solution`), None if none was found.
    """

    instance: str
    key: str
    under: str
    arm: str
    reason: str
    started: bool
    starts: str
    cost: float
    result: SolveResult
    solution_at: int | None


class FailedArm(Value):
    """A configuration under which a solve failed: it is not tried again under the same settings."""

    arm: str
    under: str
    reason: str


_EVENTS: Final[dict[str, type[SeriesSolve | FailedArm]]] = {"solved": SeriesSolve, "failed": FailedArm}


def cost_of(result: SolveResult, time_limit_s: float) -> float:
    """Return a solve's share of the time limit (1 if it did not finish) plus its final gap plus its mean gap.

    The first two are the score of the competition on reoptimization (Bolusani et al., arXiv 2311.14834). The mean gap
    is the primal-dual integral over the limit; it distinguishes solves that end at the limit.
    """
    time = min(result.cpu_s / time_limit_s, 1.0) if result.finished else 1.0
    return time + gap_of(result) + min(result.primal_dual_integral / (100.0 * time_limit_s), 1.0)


def gap_of(result: SolveResult) -> float:
    """Return |primal - dual| / max(|primal|, |dual|); 1 if a bound is infinite or the signs differ."""
    primal, dual = result.primal_bound, result.dual_bound
    if result.proven or primal == dual:
        return 0.0
    if primal is None or dual is None or primal * dual < 0:
        return 1.0
    return abs(primal - dual) / max(abs(primal), abs(dual))


class Series:
    """Solve instances in order; a bandit chooses each one's configuration and starts by the costs of earlier solves.

    Every solve is stored before the next begins: a series can be continued, and processes that solve it at the same
    time learn from each other. Of solves under other settings, such as another time limit, only solutions are reused.
    If a model's own branching rule comes first, it branches, under the default settings.

    Parameters
    ----------
    name : str
        Name of the series in the store.
    rules : sequence of references
        Methods to try after SCIP's default settings and before `PORTFOLIO`: what `load_method` takes.
    reuse : bool
        Whether solutions of earlier instances may be given as starts, for as long as solves with them do better.
    store : Store, optional
        That of the home by default.
    **settings
        Fields of `SolveSettings`. `time_limit_s` is required, `seed` seeds the bandit too, `guard` is on by default.

    Examples
    --------
    >>> series = Series("plan", time_limit_s=600)  # doctest: +SKIP
    >>> solved = series.solve("monday.mps.gz")  # doctest: +SKIP
    >>> solved.arm, solved.result.status  # doctest: +SKIP
    ('SCIP default settings', 'optimal')
    """

    @checked
    def __init__(
        self,
        name: str,
        *,
        rules: Sequence[AnyReference] = (),
        reuse: bool = True,
        store: Store | None = None,
        **settings: Any,
    ) -> None:
        self.settings = SolveSettings.checked({"guard": True} | settings)
        if self.settings.time_limit_s is None:
            raise ConfigError(
                "A series needs a time limit, since a configuration that is tried may be slow; give time_limit_s."
            )
        self._limit_s = self.settings.time_limit_s
        self._default = self.settings.under.known_as
        self.arms: Mapping[str, Method] = self._arms(rules)
        self.reuse = reuse
        self._store = store if store is not None else project_home().store
        self._key, self._under = f"series-{name}", self.settings.fingerprint()
        self._last = 0
        self.solves: list[SeriesSolve] = []
        self._solutions_at: list[int] = []
        self.put_aside = dict[str, str]()
        self._read()

    @checked
    def solve(self, instance: str | Path | pyscipopt.scip.Model, note: Note | None = None) -> SeriesSolve:
        """Solve the next instance; a file that was solved before under the same settings is not solved again.

        Parameters
        ----------
        instance : str, Path or Model
            A file, or a model that is not being solved yet: it gets the `settings` and is solved in place.
        note : callable, optional
            Called with a line on the configuration, the reason for it, and the starts; logged by default.

        Raises
        ------
        InstanceError, InterruptedSolveError
            If a file cannot be read; if a signal ended the solve, which is then not stored. With plugins, which may
            call `interruptSolve`, it is stored.
        SolverError, RuleError
            If a model was solved before or has a rule, or the solve fails. A configuration other than the default one
            is put aside then, unless the model has plugins, and a file is solved by another.
        """
        tell = note or logging.getLogger(__name__).info
        self._read()
        if isinstance(instance, str | Path):
            return self._solve_file(Path(instance), tell)
        model: pyscipopt.scip.Model = instance
        check_free(model)
        return self._solve(model, model.getProbName(), tell)

    def _solve_file(self, path: Path, tell: Note) -> SeriesSolve:
        model, key = read_model(path), digest_of_file(path)
        for solved in self.solves:
            if solved.key == key:
                tell(f"{path.name}: solved before, with {solved.arm}.")
                return solved
        failed = len(self.put_aside)
        try:
            return self._solve(model, path.name, tell, key)
        except (RuleError, SolverError):
            if len(self.put_aside) == failed:
                raise
        return self._solve_file(path, tell)

    def _solve(self, model: pyscipopt.Model, name: str, tell: Note, key: str = "") -> SeriesSolve:
        has_plugins = not key and plugins(model) > plugins(pyscipopt.Model())
        apply(self.settings, model)
        TreeClocks.include(model)
        if key:  # a file: nobody asks its model what parts took
            model.setParam("timing/statistictiming", False)
        usable = [arm for arm in self.arms if arm not in self.put_aside]
        costs = [(solve.arm, solve.cost) for solve in self.solves]
        arm, reason = choose_arm(usable, costs, self.settings.seed)
        if (rule := own_rule(model)) is not None:
            arm, reason = self._default, f"the model's own branching rule {rule} stays in charge"
        started, starts = self._starts(model)
        tell(f"{name}: {arm}, since {reason}; {starts}.")
        try:
            method = None if arm == self._default else self.arms[arm]
            result = solve_model(model, method, self.settings, name)
        except (RuleError, SolverError) as error:
            if arm != self._default and not (has_plugins and isinstance(error, SolverError)):
                failure = FailedArm(arm=arm, under=self._under, reason=str(error))
                self._store.append(self._key, "failed", failure.model_dump())
                self._read()
                tell(f"{name}: {arm} is put aside. {error}")
            raise
        if result.status in INTERRUPTED and not has_plugins:
            raise InterruptedSolveError(f"The solve of {name} was interrupted.")
        solution = solution_of(model)
        if solution == {}:
            tell(f"{name}: its solution is not kept, since variables share a name.")
        solved = SeriesSolve(
            instance=name,
            key=key,
            under=self._under,
            arm=arm,
            reason=reason,
            started=started,
            starts=starts,
            cost=cost_of(result, self._limit_s),
            result=result,
            solution_at=None if solution is None else self._store.append(self._key, "solution", solution),
        )
        self._store.append(self._key, "solved", solved.model_dump(mode="json"))
        self._read()
        if (aside := self.put_aside.get(arm)) is not None:
            tell(f"{arm} is put aside: {aside}.")
        return solved

    def solution(self, solved: SeriesSolve) -> dict[str, float] | None:
        """Return a solve's best solution as values by variable names; None without one, or if names are not unique."""
        if solved.solution_at is None:
            return None
        return next(self._store.events(self._key, solved.solution_at - 1, ["solution"])).body or None

    def _starts(self, model: pyscipopt.Model) -> tuple[bool, str]:
        """Give a model starts, unless solves without did better; return `started` and `starts` of a `SeriesSolve`."""
        places = self._solutions_at[-STARTS:]
        if not places or not self.reuse:
            return False, NO_STARTS
        costs = [("starts" if solve.started else NO_STARTS, solve.cost) for solve in self.solves]
        # Starts and configurations are chosen separately, as by Patel: their product has twice as many arms.
        arm, reason = choose_arm((NO_STARTS, "starts"), costs, self.settings.seed + 1)
        if arm == NO_STARTS:
            return False, f"{NO_STARTS}, since {reason}"
        solutions = [event.body for event in self._store.events(self._key, places[0] - 1, ["solution"])]
        matching = give_solutions(model, solutions[-STARTS:])
        if not matching:
            return False, f"{NO_STARTS}, since no name of a variable matches"
        words = f"starts from {counted(len(places), 'earlier solution')}"
        return True, f"{words}, {matching} of {model.getNVars()} names match"

    def _arms(self, rules: Sequence[AnyReference]) -> dict[str, Method]:
        """Return the default settings, `rules` and `PORTFOLIO`, each once, by the names they have in the store."""
        space = Space({name: load_method(name) for name in ("general", "pscost")})
        # What a file holds may change, and files of other folders may be called the same.
        named = [(f"{method.name} ({method.identity[:8]})", method) for method in map(load_method, rules)]
        named += [(choices_text(choices), space.configuration(choices)) for choices in PORTFOLIO]
        first = foremost({**usual_parameters(), **self.settings.under.effective})
        arms: dict[str, Method] = {self._default: ScipMethod.model_construct(name=first)}
        for name, method in named:
            if all(method.identity != other.identity for other in arms.values()):
                arms[name] = method
        return arms

    def _read(self) -> None:
        """Read the events since the last time, of this process or another."""
        for event in self._store.events(self._key, self._last, _EVENTS):
            self._last = event.seq
            entry = _EVENTS[event.kind].checked(event.body)
            if isinstance(entry, SeriesSolve) and entry.solution_at is not None:
                self._solutions_at.append(entry.solution_at)
            if entry.under != self._under:
                continue
            if isinstance(entry, FailedArm):
                self.put_aside[entry.arm] = entry.reason
                continue
            unsolved = entry.solution_at is None and entry.result.status not in PROVEN | INTERRUPTED
            if unsolved and entry.arm != self._default and any(solve.solution_at for solve in self.solves):
                self.put_aside[entry.arm] = f"it found no solution of {entry.instance}"
            self.solves.append(entry)
