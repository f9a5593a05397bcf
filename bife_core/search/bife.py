"""BiFE's bi-fidelity evolution (paper, Algorithm 1) behind `ask` and `tell`.

What Algorithm 1 leaves open is a field of `SearchConfig`; what it does not speak of is decided here. A generation
without an elite to draw parents from is another initialisation, so that no failure ends the search early. If all
solves of founders fail, the next ceil(alpha N) by F_LF are tried, until one succeeds or none is left. A behavioural
duplicate of a rule that was solved with keeps its F_LF and is not solved with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from bife_core.search.base import OPERATORS, BaseSearch
from bife_core.search.config import SearchConfig
from bife_core.search.population import (
    by_high_fidelity,
    by_low_fidelity,
    founders,
    reaches,
    survivors,
    threshold,
)
from bife_core.search.types import GenerationSummary, Operator, Request, Sample, SampleRequest, SolveRequest

if TYPE_CHECKING:
    from bife_core.search.answers import Answered

GIVEN: Final = "given"
"""Name of `GivenSearch`, and of the generator that passes on what somebody wrote."""


class BifeSearch(BaseSearch):
    """Algorithm 1 behind `ask` and `tell`; `elites` are those after the last completed generation, best F_HF first.

    The `population` has the elites, then the others by F_LF. `tau` is the F_LF a sample must reach to earn solves, None
    while there is no elite. Two steps make a generation: samples are asked for all together, then solves for those
    whose F_LF earns them.

    Examples
    --------
    >>> from bife_core.search.answers import Answered, HighScore, LowScore
    >>> search = BifeSearch(SearchConfig(samples=2, initial=2, population=1))
    >>> first, second = search.ask()
    >>> low, high = (Answered(request=r, low=LowScore(f_lf=f)) for r, f in ((first, 0.4), (second, 0.6)))
    >>> search.tell((low, high))
    >>> [solve] = search.ask()
    >>> solve.subject
    'solve g00-c01'
    >>> search.tell([Answered(request=solve, high=HighScore(f_hf=-1.5))])
    >>> search.ask(), search.best.id, search.tau
    ((), 'g00-c01', 0.6)
    """

    crosses_niches: ClassVar[bool] = True

    def __init__(self, config: SearchConfig) -> None:
        super().__init__(config)
        self.elites: tuple[Sample, ...] = ()
        self._costs: dict[str, tuple[float | None, ...]] = {}
        self.tau: float | None = None
        self._newcomers: tuple[str, ...] = ()
        self._to_solve: tuple[Sample, ...] = ()
        self._reserve: tuple[Sample, ...] = ()

    @property
    def parent_pool(self) -> tuple[Sample, ...]:
        """The population, once a rule of it was evaluated in the solver."""
        return self.population if by_high_fidelity(self.population) else ()

    def summary(self) -> GenerationSummary:
        """Return the summary of the generation that ends, with tau and the elites."""
        return super().summary().model_copy(update={"n_elites": len(self.elites), "tau": self.tau})

    def propose(self) -> tuple[Request, ...]:
        """Return solves for the rules that earned them, or else samples."""
        if self._to_solve:
            return tuple(self._solve_request(sample) for sample in self._to_solve)
        return self.sample_requests(self.operators if self.parent_pool else ())

    def learn(self, answers: Sequence[Answered]) -> None:  # noqa: D102
        if self._to_solve:
            solved = [answer.sample for answer in answers]
            self._costs |= {answer.request.id: answer.high.costs if answer.high else () for answer in answers}
            for sample in solved:
                self.update(sample)
            self._to_solve = () if self.parent_pool or by_high_fidelity(solved) else self._call_founders()
        else:
            newcomers = self.admit(answers)
            self._newcomers = tuple(sample.id for sample in newcomers)
            self._to_solve = self._earns_solves(newcomers)
        if not self._to_solve:
            self._survive([self._samples[name] for name in self._newcomers])
            self._reserve = ()
            self._set_tau()
            self.end_generation()

    def _solve_request(self, sample: Sample) -> SolveRequest:
        if not self.elites:
            return SolveRequest(id=sample.id, sample=sample)
        best, worst = (self._costs.get(elite.id, ()) for elite in (self.elites[0], self.elites[-1]))
        return SolveRequest(id=sample.id, sample=sample, to_beat=worst, best=best)

    def _earns_solves(self, newcomers: Sequence[Sample]) -> tuple[Sample, ...]:
        """Return which samples of a generation are to be solved with."""
        if self.elites:
            return self._without_duplicates(rule for rule in newcomers if self._reaches_tau(rule))
        self._reserve = self._without_duplicates(by_low_fidelity(newcomers))
        return self._call_founders()

    def _set_tau(self) -> None:
        self.tau = threshold(self.elites, self.samples, self.config)

    def _reaches_tau(self, rule: Sample) -> bool:
        return reaches(rule, self.tau)

    def _without_duplicates(self, rules: Iterable[Sample]) -> tuple[Sample, ...]:
        """Return the rules that choose like none solved with and none before them; mark the others."""
        first = {sample.behaviour: sample.id for sample in self.samples if sample.id in self._costs}
        kept = []
        for rule in rules:
            if rule.behaviour is None or first.setdefault(rule.behaviour, rule.id) == rule.id:
                kept.append(rule)
            else:
                self.update(rule.model_copy(update={"duplicate_of": first[rule.behaviour]}))
        return tuple(kept)

    def _survive(self, newcomers: Sequence[Sample]) -> None:
        """Replace the population after a generation."""
        self.elites, others = survivors(self.elites, newcomers, self.config)
        self.population = self.elites + others

    def _call_founders(self) -> tuple[Sample, ...]:
        """Return the next that may found the elite, and take them from the reserve."""
        count = founders(self.config)
        called, self._reserve = self._reserve[:count], self._reserve[count:]
        return called


class RandomSearch(BifeSearch):
    """BiFE with rules that have no parents: nothing is learnt from one rule to the next."""

    operators: tuple[Operator, ...] = ("i1",) * len(OPERATORS)


class HighOnlySearch(BifeSearch):
    """The paper's ablation without F_LF: each valid rule is solved with, the N of highest F_HF survive."""

    low_fidelity: ClassVar[bool] = False
    crosses_niches: ClassVar[bool] = False  # only decisions say what a rule does

    def _earns_solves(self, newcomers: Sequence[Sample]) -> tuple[Sample, ...]:
        return tuple(rule for rule in newcomers if rule.valid)

    def _survive(self, newcomers: Sequence[Sample]) -> None:
        self.population = by_high_fidelity((*self.population, *newcomers))[: self.config.population]


class GivenSearch(BifeSearch):
    """Scores rules that somebody else writes, one a generation; valid new ones race against the elites."""

    operators: tuple[Operator, ...] = ("i1",)

    def propose(self) -> tuple[Request, ...]:
        """Return solves for the rule that was sampled, or else a request for the next."""
        return super().propose() if self._to_solve else self.sample_requests(self.operators)

    def sample_request(
        self, position: int, operator: Operator, parents: tuple[Sample, ...] = (), **fields: Any
    ) -> SampleRequest:
        """Return the request for a rule, which is scored where it can be: a configuration scores no candidates."""
        return (
            super().sample_request(position, operator, parents, **fields).model_copy(update={"scored": False})
        )

    def _earns_solves(self, newcomers: Sequence[Sample]) -> tuple[Sample, ...]:
        return self._without_duplicates(rule for rule in newcomers if rule.valid)
