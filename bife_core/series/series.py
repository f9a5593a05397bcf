"""A series: instances that are solved one after the other, and what is kept of each for the next."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pyscipopt

from bife_core.arguments import checked
from bife_core.benchmarks.base import digest_of_file
from bife_core.errors import ConfigError, InterruptedSolveError, RuleError, SolverError
from bife_core.home import project_home
from bife_core.methods.base import RPB, Method, ScipMethod
from bife_core.methods.loading import AnyReference, load_method
from bife_core.methods.using import solve_model
from bife_core.scip.reading import read_model
from bife_core.scip.solving import INTERRUPTED, RootClock, SolveResult, SolveSettings, apply
from bife_core.series.bandit import choose_arm
from bife_core.series.reuse import STARTS, Solution, give_starts, solution_of
from bife_core.store import Store
from bife_core.tuning.space import BRANCHING, Choices, Space, said
from bife_core.values import Value

PORTFOLIO: Final[tuple[Choices, ...]] = (
    {BRANCHING: "general"},
    {"separating": "off", BRANCHING: "general"},
)
"""What is tried beside the default settings: where the lever is on most families (`docs/tuning.md`)."""


class SeriesSolve(Value):
    """One solve of a series.

    Attributes
    ----------
    instance, digest : str
        Name of the file or model, and digest of the file's content; empty for a model.
    arm, reason, starts : str
        The configuration, why it was chosen, and which earlier solutions were given, in words.
    settings : str
        Fingerprint of the `SolveSettings`.
    cost : float
        Between 0 and 2, see `cost_of`.
    result : SolveResult
    solution_at : int or None
        Where the best solution is in the store, see `Series.solution`; None if none was found.
    """

    instance: str
    digest: str
    arm: str
    reason: str
    starts: str
    settings: str
    cost: float
    result: SolveResult
    solution_at: int | None


def cost_of(result: SolveResult, time_limit_s: float) -> float:
    """Return what a solve cost: its share of the time limit, 1 if it did not end before, plus its mean gap.

    The mean is taken over the whole limit, so that it is the primal-dual integral (Berthold) as a share of what it can
    be; without a solution the gap is 1. The score of the competition on reoptimization (Bolusani et al., arXiv
    2311.14834), for comparison, has the gap at the end.
    """
    time = min(result.cpu_s / time_limit_s, 1.0) if result.finished else 1.0
    return time + min(result.primal_dual_integral / (100.0 * time_limit_s), 1.0)


class Series:
    """Instances that are solved in order, each by a configuration, and from solutions, that earlier ones commend.

    The store keeps every solve before the next begins, so that a series goes on wherever it stopped, today or tomorrow.
    Processes that solve instances of the same series at once learn from each other.

    Parameters
    ----------
    name : str
        What the series is called in the store.
    rules : sequence of references
        What is tried beside SCIP's settings as they are and `PORTFOLIO`, and before that: whatever `load_method` takes,
        such as tuned settings or a champion.
    reuse : bool
        Whether solutions of earlier instances are given as starts.
    settings : SolveSettings, optional
        Under which all is solved; it needs a time limit, which is what trying a configuration can cost at most. Its
        seed is that of the bandit too. By default rules are guarded.
    store : Store, optional
        By default that of the home.
    **overrides
        Single fields of `SolveSettings`, such as ``time_limit_s=600``.

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
        settings: SolveSettings | None = None,
        store: Store | None = None,
        **overrides: Any,
    ) -> None:
        given = {"guard": True} if settings is None else dict(settings)
        self.settings = SolveSettings.checked(given | overrides)
        if self.settings.time_limit_s is None:
            raise ConfigError(
                "A series needs a time limit, since a configuration that is tried may be slow; give time_limit_s."
            )
        self._limit_s = self.settings.time_limit_s
        self._default = self.settings.under.known_as
        self.arms: Mapping[str, Method] = self._arms(rules)
        self.reuse = reuse
        self._store = store if store is not None else project_home().store
        self._key = f"series-{name}"
        self._last = 0
        self.solves: list[SeriesSolve] = []
        self.put_aside = dict[str, str]()
        self._read()

    @checked
    def solve(
        self, instance: str | Path | pyscipopt.Model, note: Callable[[str], object] | None = None
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
        InstanceError
            If a file cannot be read.
        SolverError, RuleError
            If the solve fails. On a file, another configuration than the default one is put aside and the file solved
            again; on a model, it is put aside from the next solve on.
        InterruptedSolveError
            If a signal ended the solve; nothing is kept of it.
        """
        tell = note or logging.getLogger(__name__).info
        path = None if isinstance(instance, pyscipopt.Model) else Path(instance)
        self._read()
        digest = ""
        with ExitStack() as stack:
            if path is None:
                model, name, clock = instance, instance.getProbName(), None
            else:
                model, name = read_model(path), path.name
                digest = digest_of_file(path)
                key = (digest, self.settings.fingerprint())
                for solved in self.solves:
                    if (solved.digest, solved.settings) == key:
                        tell(f"{name}: solved before, with {solved.arm}.")
                        return solved
                clock = stack.enter_context(RootClock.over(model))
            apply(self.settings, model)
            usable = [arm for arm in self.arms if arm not in self.put_aside]
            costs = [(one.arm, one.cost) for one in self.solves]
            choice = choose_arm(usable, costs, self.settings.seed)
            starts = give_starts(model, self._last_solutions()) if self.reuse else "starts are off"
            tell(f"{name}: {choice.arm}, since {choice.reason}; {starts}.")
            try:
                result = solve_model(model, self.arms[choice.arm], self.settings, name, clock)
            except (RuleError, SolverError) as error:
                if choice.arm == self._default:
                    raise
                self._store.append(self._key, "failed", {"arm": choice.arm, "reason": str(error)})
                if path is None:
                    raise
                tell(f"{name}: {choice.arm} is put aside. {error}")
                return self.solve(path, note)
            if result.status in INTERRUPTED:
                raise InterruptedSolveError(f"The solve of {name} was interrupted.")
            if (solution := solution_of(model)) is not None:
                solution_at = self._store.append(self._key, "solution", solution)
            solved = SeriesSolve(
                instance=name,
                digest=digest,
                arm=choice.arm,
                reason=choice.reason,
                starts=starts,
                settings=self.settings.fingerprint(),
                cost=cost_of(result, self._limit_s),
                result=result,
                solution_at=None if solution is None else solution_at,
            )
        self._store.append(self._key, "solved", solved.model_dump(mode="json"))
        self._read()
        if (reason := self.put_aside.get(choice.arm)) is not None:
            tell(f"{choice.arm} is put aside: {reason}.")
        return solved

    def solution(self, solved: SeriesSolve) -> dict[str, float] | None:
        """Return the best solution of a solve, by the names of variables; None if it found none."""
        if solved.solution_at is None:
            return None
        return next(self._store.events(self._key, solved.solution_at - 1, ["solution"])).body

    def _last_solutions(self) -> list[Solution]:
        places = [one.solution_at for one in self.solves if one.solution_at is not None][-STARTS:]
        events = self._store.events(self._key, min(places, default=1) - 1, ["solution"])
        return [event.body for event in events][-STARTS:]

    def _arms(self, rules: Sequence[AnyReference]) -> dict[str, Method]:
        """Return the default settings, `rules` and `PORTFOLIO`, by name, each once."""
        space = Space({"general": load_method("general")})
        named = [(method.name, method) for method in map(load_method, rules)]
        named += [(said(choices), space.configuration(choices)) for choices in PORTFOLIO]
        arms: dict[str, Method] = {self._default: ScipMethod(name=RPB)}
        for name, method in named:
            if all(method.identity != other.identity for other in arms.values()):
                arms[name] = method
        return arms

    def _read(self) -> None:
        """Take up what was stored since the last time, by this process or another."""
        for event in self._store.events(self._key, self._last, ["solved", "failed"]):
            self._last = event.seq
            if event.kind == "failed":
                self.put_aside[event.body["arm"]] = event.body["reason"]
                continue
            solved = SeriesSolve.model_validate(event.body)
            found = any(one.solution_at is not None for one in self.solves)
            if (
                found
                and solved.solution_at is None
                and not solved.result.proven
                and solved.arm != self._default
            ):
                self.put_aside[solved.arm] = f"it found no solution of {solved.instance}"
            self.solves.append(solved)
