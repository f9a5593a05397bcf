"""BiFE's bi-fidelity evolution (paper, Algorithm 1) as a value that asks and is told.

What Algorithm 1 leaves open is a field of `SearchConfig`. What it does not speak of is settled here:

- A generation without any elite to draw parents from is another initialisation: `initial` samples of operator
  i1. So no failure ends the search early, and the budget is used up whatever happens.
- If the solves of all rules chosen to found the elite set fail, the next ceil(alpha N) by F_LF are tried,
  until one succeeds or none is left.
- A rule whose hash was seen before is a failure, `duplicate of <first id>`, and earns no second F_HF.
- A rule that chose in all recorded decisions like one that was solved with (a twin) keeps its F_LF, inherits no
  F_HF and is not solved with, unless `duplicates` says so.
- The last generation takes the first operators that the budget allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from bife_core.search.base import Answered, BaseSearch, solved_sample
from bife_core.search.config import LEAST_TERMS, SearchConfig
from bife_core.search.population import (
    Population,
    by_high_fidelity,
    by_low_fidelity,
    founders,
    reaches,
    threshold,
)
from bife_core.search.types import (
    Fit,
    GenerationSummary,
    Operator,
    Request,
    Sample,
    SolveAnswer,
    SolveRequest,
)


class BifeSearch(BaseSearch):
    """Algorithm 1 behind `ask` and `tell`.

    Two steps make a generation: samples are asked for all together, then solves for those whose F_LF earns
    them. `ask` gives the same requests again until they are answered.

    Parameters
    ----------
    config : SearchConfig
        All choices of the search, its seed included.

    Examples
    --------
    >>> from bife_core.search import SampleAnswer
    >>> search = BifeSearch(SearchConfig(samples=2, initial=2, population=1))
    >>> [request.id for request in search.ask()]
    ['g00-c00', 'g00-c01']
    >>> search.tell((SampleAnswer(id="g00-c00", f_lf=0.4), SampleAnswer(id="g00-c01", f_lf=0.6)))
    >>> [(request.kind, request.id) for request in search.ask()]
    [('solve', 'g00-c01')]
    >>> search.tell((SolveAnswer(id="g00-c01", f_hf=-1.5),))
    >>> search.ask(), search.best.id, search.tau
    ((), 'g00-c01', 0.6)
    """

    def __init__(self, config: SearchConfig) -> None:
        super().__init__(config)
        self._population = Population()
        self._costs: dict[str, tuple[float | None, ...]] = {}
        self._tau: float | None = None
        self._newcomers: tuple[str, ...] = ()
        self._to_solve: tuple[Sample, ...] = ()
        self._reserve: tuple[Sample, ...] = ()

    @property
    def elites(self) -> tuple[Sample, ...]:
        """The elite set after the last completed generation, best F_HF first."""
        return self._population.elites

    @property
    def population(self) -> tuple[Sample, ...]:
        """The rules alive after the last completed generation, in the order parents are drawn by."""
        return self._population.ranked

    @property
    def _ancestors(self) -> tuple[Sample, ...]:
        """Return the rules without which a generation is another initialisation."""
        return self.elites

    @property
    def tau(self) -> float | None:
        """F_LF a sample must reach to earn solves; None while there is no elite."""
        return self._tau

    def summary(self) -> GenerationSummary:
        """Return the summary of the generation that ends, with tau and the elites."""
        return super().summary().model_copy(update={"n_elites": len(self.elites), "tau": self.tau})

    def propose(self) -> tuple[Request, ...]:
        """Return what to ask next."""
        if self._to_solve:
            return tuple(self._solve_request(sample) for sample in self._to_solve)
        return self.sample_requests(self.operators if self._ancestors else ())

    def learn(self, answered: Answered) -> None:
        """Take the answers to what `propose` returned."""
        if self._to_solve:
            answers = [answer for _, answer in answered if isinstance(answer, SolveAnswer)]
            solved = [solved_sample(rule, one) for rule, one in zip(self._to_solve, answers, strict=True)]
            self._costs.update({one.id: one.costs for one in answers})
            for sample in solved:
                self.update(sample)
            self._to_solve = () if self._ancestors or by_high_fidelity(solved) else self._call_founders()
        else:
            newcomers = self.admit(answered)
            self._newcomers = tuple(sample.id for sample in newcomers)
            self._to_solve = self._earns_solves(newcomers)
        if not self._to_solve:
            self._population = self._survivors([self._samples[name] for name in self._newcomers])
            self._reserve = ()
            self._set_tau()
            self.end_generation()

    @property
    def _fitted_share(self) -> float:
        """Share of the initial rules that are fitted, not written."""
        return 0.0

    @property
    def _niches(self) -> int:
        """Niches that the initial rules which are fitted begin."""
        return 1

    def initial_operators(self) -> tuple[Operator, ...]:
        """Return what makes the initial rules."""
        fitted = round(self._fitted_share * self.config.initial)
        return tuple("fit" if number < fitted else "i1" for number in range(self.config.initial))

    def choose_parents(self, operator: Operator) -> tuple[Sample, ...]:
        """Draw parents, none where the generation is another initialisation."""
        return super().choose_parents(operator) if self._ancestors else ()

    def fit(self, position: int, operator: Operator, parents: tuple[Sample, ...]) -> Fit | None:
        """Return how the rule of a sample is fitted; None where it is written."""
        if operator != "fit":
            return None
        settings = self.config.symbolic
        niches, sizes = self._niches, settings.terms - LEAST_TERMS + 1
        if parents:
            terms = LEAST_TERMS + (self.generation + position) % sizes
            niche = parents[0].niche or 0
            return Fit(terms=terms, children=settings.children, rank=position, niche=niche)
        # Niches and sizes in turn. At first every second rule has its factors added one by one, once for each niche and
        # size, since nothing is drawn for that.
        once = 0 if self.generation > 0 else niches * sizes
        selected = min((position + 1) // 2, once)
        is_selected = position % 2 == 0 and position // 2 < once
        number = selected if is_selected else position - selected
        terms = LEAST_TERMS + (number + number // math.lcm(niches, sizes)) % sizes
        if is_selected:
            return Fit(terms=terms, children=0, niche=number % niches)
        return Fit(terms=terms, children=settings.children, rank=number // niches, niche=number % niches)

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
        self._tau = threshold(self.elites, self.samples, self.config)

    def _reaches_tau(self, rule: Sample) -> bool:
        return reaches(rule, self._tau)

    def _without_duplicates(self, rules: Iterable[Sample]) -> tuple[Sample, ...]:
        """Return the rules that choose otherwise than those solved with, and than those before them."""
        if self.config.duplicates == "solve":
            return tuple(rules)
        known = {sample.behaviour for sample in self.samples if sample.id in self._costs}
        kept = []
        for rule in rules:
            if rule.behaviour is None or rule.behaviour not in known:
                kept.append(rule)
                known.add(rule.behaviour)
        return tuple(kept)

    def _survivors(self, newcomers: Sequence[Sample]) -> Population:
        """Return the population after a generation."""
        return self._population.succeeded_by(newcomers, self.config)

    def _call_founders(self) -> tuple[Sample, ...]:
        """Return the next that may found the elite, and take them from the reserve."""
        count = founders(self.config)
        called, self._reserve = self._reserve[:count], self._reserve[count:]
        return called
