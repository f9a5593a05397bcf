"""A series: instances that are solved one after the other, and what is kept of each for the next."""

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
from bife_core.solver.methods.base import Method, ScipMethod
from bife_core.solver.methods.loading import AnyReference, load_method
from bife_core.solver.methods.using import solve_model
from bife_core.solver.scip.branching import check_free
from bife_core.solver.scip.libscip import plugins
from bife_core.solver.scip.reading import read_model
from bife_core.solver.scip.settings import foremost, own_rule, usual_parameters
from bife_core.solver.scip.solutions import solution_of
from bife_core.solver.scip.solve import INTERRUPTED, PROVEN, RootClock, SolveResult, SolveSettings, apply
from bife_core.store import Store
from bife_core.store.home import project_home
from bife_core.tuning.series.bandit import choose_arm
from bife_core.tuning.series.reuse import STARTS, give_starts
from bife_core.tuning.space import BRANCHING, Choices, Space, said

PORTFOLIO: Final[tuple[Choices, ...]] = (
    {"separating": "fast", BRANCHING: "general"},
    {BRANCHING: "general"},
    {"separating": "fast", BRANCHING: "pscost"},
)
"""What is tried beside the default settings."""

NO_STARTS: Final = "no starts"


class SeriesSolve(Value):
    """One solve of a series.

    Attributes
    ----------
    instance, key, under : str
        Name of the file or model, a digest of the file's content (empty for a model), and one of the settings.
    arm, reason : str
        The configuration, and why it was chosen.
    given, starts : bool, str
        Whether earlier solutions were given, and which or why not, in words.
    cost : float
        Between 0 and 3, see `cost_of`.
    result : SolveResult
    solution_at : int or None
        Where the best solution is in the store, see `Series.solution`; None if none was found.
    """

    instance: str
    key: str
    under: str
    arm: str
    reason: str
    given: bool
    starts: str
    cost: float
    result: SolveResult
    solution_at: int | None


def cost_of(result: SolveResult, time_limit_s: float) -> float:
    """Return what a solve cost: the share of the limit it took (1 if it did not end), the last gap, and the mean gap.

    The first two are the score of the competition on reoptimization (Bolusani et al., arXiv 2311.14834), with its gap;
    the mean gap over the limit is the primal-dual integral, and lets solves that end at the limit differ more.
    """
    time = min(result.cpu_s / time_limit_s, 1.0) if result.finished else 1.0
    return time + gap_of(result) + min(result.primal_dual_integral / (100.0 * time_limit_s), 1.0)


def gap_of(result: SolveResult) -> float:
    """Return the competition's gap: between the bounds, over the larger; 1 where that is unknown or signs differ."""
    primal, dual = result.primal_bound, result.dual_bound
    if result.proven or primal == dual:
        return 0.0
    if primal is None or dual is None or primal * dual < 0:
        return 1.0
    return abs(primal - dual) / max(abs(primal), abs(dual))


class Series:
    """Instances that are solved in order, each by a configuration, and from solutions, that earlier ones commend.

    The store has every solve before the next begins, so that a series goes on wherever it stopped. Processes that
    solve instances of the same series at once learn from each other. Under other settings, such as another time limit,
    costs do not compare: only solutions are taken over. A model is for one solve; where a branching rule of its own
    comes first, that branches, under the default settings.

    Parameters
    ----------
    name : str
        What the series is called in the store.
    rules : sequence of references
        What is tried beside SCIP's settings as they are and `PORTFOLIO`, and before that: whatever `load_method` takes,
        such as tuned settings or a champion.
    reuse : bool
        Whether solutions of earlier instances may be given as starts, for as long as solves with them do better.
    store : Store, optional
        By default that of the home.
    **settings
        Fields of `SolveSettings`. The time limit is needed: it is what trying a configuration can cost at most. The
        seed is that of the bandit too. By default rules are guarded.

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
        self._places: list[int] = []
        self.put_aside = dict[str, str]()
        self._read()

    @checked
    def solve(
        self, instance: str | Path | pyscipopt.scip.Model, note: Callable[[str], object] | None = None
    ) -> SeriesSolve:
        """Solve the next instance; a file that was solved under the same settings before is not solved again.

        Parameters
        ----------
        instance : str, Path or Model
            A file, or a model that is not being solved yet: `settings` are set in it too, and it is solved in place.
        note : callable, optional
            Called with a line that says which configuration solves it, why, and from what starts; logged by default.

        Raises
        ------
        InstanceError, InterruptedSolveError
            If a file cannot be read; or a signal ended the solve, of which nothing is kept. A model with plugins of its
            own, which may have called `interruptSolve`, has a result all the same.
        SolverError, RuleError
            If a model was solved before or has a rule; or the solve fails. A configuration other than the default one
            is put aside then, unless the model has plugins of its own, and a file solved by another.
        """
        tell = note or logging.getLogger(__name__).info
        self._read()
        if isinstance(instance, str | Path):
            return self._solve_file(Path(instance), tell)
        model: pyscipopt.scip.Model = instance
        check_free(model)
        return self._solve(model, model.getProbName(), tell)

    def _solve_file(self, path: Path, tell: Callable[[str], object]) -> SeriesSolve:
        model, key = read_model(path), digest_of_file(path)
        for solved in self.solves:
            if solved.key == key:
                tell(f"{path.name}: solved before, with {solved.arm}.")
                return solved
        failed = len(self.put_aside)
        try:
            with RootClock.over(model) as clock:
                return self._solve(model, path.name, tell, key, clock)
        except (RuleError, SolverError):
            if len(self.put_aside) == failed:
                raise
        return self._solve_file(path, tell)

    def _solve(
        self,
        model: pyscipopt.Model,
        name: str,
        tell: Callable[[str], object],
        key: str = "",
        clock: RootClock | None = None,
    ) -> SeriesSolve:
        own = not key and plugins(model) > plugins(pyscipopt.Model())
        apply(self.settings, model)
        usable = [arm for arm in self.arms if arm not in self.put_aside]
        arm, reason = choose_arm(usable, [(one.arm, one.cost) for one in self.solves], self.settings.seed)
        if (rule := own_rule(model)) is not None:
            arm, reason = self._default, f"the model's own branching rule {rule} stays in charge"
        given, starts = self._starts(model)
        tell(f"{name}: {arm}, since {reason}; {starts}.")
        try:
            method = None if arm == self._default else self.arms[arm]
            result = solve_model(model, method, self.settings, name, clock)
        except (RuleError, SolverError) as error:
            if arm != self._default and not (own and isinstance(error, SolverError)):
                failure = {"arm": arm, "under": self._under, "reason": str(error)}
                self._store.append(self._key, "failed", failure)
                self._read()
                tell(f"{name}: {arm} is put aside. {error}")
            raise
        if result.status in INTERRUPTED and not own:
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
            given=given,
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
        """Return the best solution of a solve, by the names of variables; None without one, or if they share names."""
        if solved.solution_at is None:
            return None
        return next(self._store.events(self._key, solved.solution_at - 1, ["solution"])).body or None

    def _starts(self, model: pyscipopt.Model) -> tuple[bool, str]:
        """Give a model starts, unless solves without did better; return whether, and which or why not, in words."""
        places = self._places[-STARTS:]
        if not places or not self.reuse:
            return False, NO_STARTS
        costs = [("starts" if one.given else NO_STARTS, one.cost) for one in self.solves]
        # Starts and configurations are chosen apart, as by Patel: together they were twice as many to try.
        arm, reason = choose_arm((NO_STARTS, "starts"), costs, self.settings.seed + 1)
        if arm == NO_STARTS:
            return False, f"{NO_STARTS}, since {reason}"
        solutions = [event.body for event in self._store.events(self._key, places[0] - 1, ["solution"])]
        matching = give_starts(model, solutions[-STARTS:])
        if not matching:
            return False, f"{NO_STARTS}, since no name of a variable matches"
        words = f"starts from {counted(len(places), 'earlier solution')}"
        return True, f"{words}, {matching} of {model.getNVars()} names match"

    def _arms(self, rules: Sequence[AnyReference]) -> dict[str, Method]:
        """Return the default settings, `rules` and `PORTFOLIO`, by what they are called in the store, each once."""
        space = Space({name: load_method(name) for name in ("general", "pscost")})
        # What a file holds may change, and files of other folders may be called the same.
        named = [(f"{method.name} ({method.identity[:8]})", method) for method in map(load_method, rules)]
        named += [(said(choices), space.configuration(choices)) for choices in PORTFOLIO]
        first = foremost({**usual_parameters(), **self.settings.under.effective})
        arms: dict[str, Method] = {self._default: ScipMethod.model_construct(name=first)}
        for name, method in named:
            if all(method.identity != other.identity for other in arms.values()):
                arms[name] = method
        return arms

    def _read(self) -> None:
        """Take up what was stored since the last time, by this process or another."""
        for event in self._store.events(self._key, self._last, ["solved", "failed"]):
            self._last = event.seq
            if (place := event.body.get("solution_at")) is not None:
                self._places.append(place)
            if event.body.get("under") != self._under:
                continue
            if event.kind == "failed":
                self.put_aside[event.body["arm"]] = event.body["reason"]
                continue
            solved = SeriesSolve.model_validate(event.body)
            nothing = solved.solution_at is None and solved.result.status not in PROVEN | INTERRUPTED
            if nothing and solved.arm != self._default and any(one.solution_at for one in self.solves):
                self.put_aside[solved.arm] = f"it found no solution of {solved.instance}"
            self.solves.append(solved)
