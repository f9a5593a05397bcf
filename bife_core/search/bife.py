"""BiFE's bi-fidelity evolution (paper, Algorithm 1) as a value that asks and is told.

What Algorithm 1 leaves open is a field of `SearchConfig`. What it does not speak of is settled here:

- A generation without any elite to draw parents from is another initialisation: `initial` samples of operator
  i1. So no failure ends the search early, and the budget is used up whatever happens.
- If the solves of all rules chosen to found the elite set fail, the next ceil(alpha N) by F_LF are tried,
  until one succeeds or none is left.
- A rule whose hash was seen before is a failure, `duplicate of <first id>`, and earns no second F_HF.
- When failures cost no budget, at most `ATTEMPTS_PER_SAMPLE` times the budget is asked for.
- The last generation takes the first operators that the budget allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from bife_core.config import Operator, SearchConfig
from bife_core.search.answers import check_answers, sampled_candidate, solved_candidate
from bife_core.search.population import Population, by_high_fidelity, by_low_fidelity, founders
from bife_core.search.seeding import candidate_id, candidate_seed
from bife_core.search.selection import draw_parents
from bife_core.search.summary import GenerationSummary, summarise
from bife_core.search.types import (
    Answer,
    Candidate,
    Request,
    SampleAnswer,
    SampleRequest,
    SolveAnswer,
    SolveRequest,
)

ATTEMPTS_PER_SAMPLE: Final = 10
"""Samples asked for at most, per sample of the budget, when failures do not count."""

_CROSSOVERS: Final[frozenset[Operator]] = frozenset({"e1", "e2"})


class BifeSearch:
    """Algorithm 1 behind `ask` and `tell`.

    Two steps make a generation: samples are asked for all together, then solves for those whose F_LF earns
    them. `ask` gives the same requests again until they are answered.

    Parameters
    ----------
    config : SearchConfig
        All choices of the search, its seed included.

    Examples
    --------
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
        self.config = config
        # PCG64 by name: `default_rng` may choose another bit generator in a later NumPy.
        self._rng = np.random.Generator(np.random.PCG64(config.seed))
        self._candidates: dict[str, Candidate] = {}
        self._first_with_sha: dict[str, str] = {}
        self._population = Population()
        self._begun = 0
        self._used = 0
        self._newcomers: tuple[str, ...] = ()
        self._to_solve: tuple[Candidate, ...] = ()
        self._reserve: tuple[Candidate, ...] = ()
        self._pending: tuple[Request, ...] = ()
        self._summaries: list[GenerationSummary] = []

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All candidates so far, in the order they were sampled."""
        return tuple(self._candidates.values())

    @property
    def elites(self) -> tuple[Candidate, ...]:
        """The elite set after the last completed generation, best F_HF first."""
        return self._population.elites

    @property
    def population(self) -> tuple[Candidate, ...]:
        """The rules alive after the last completed generation, in the order parents are drawn by."""
        return self._population.ranked

    @property
    def tau(self) -> float | None:
        """F_LF a sample must reach to earn solves; None while there is no elite."""
        return self._population.tau

    @property
    def best(self) -> Candidate | None:
        """The solved rule of highest F_HF, answers of the generation under way included."""
        ranked = by_high_fidelity(self._candidates.values())
        return ranked[0] if ranked else None

    @property
    def generation(self) -> int:
        """The generation last asked for; 0 is the initial population."""
        return max(0, self._begun - 1)

    @property
    def samples_used(self) -> int:
        """How much of the budget of `samples` is spent."""
        return self._used

    @property
    def done(self) -> bool:
        """Whether there is nothing left to ask."""
        return not self._pending and not self._to_solve and self._remaining() <= 0

    @property
    def summaries(self) -> tuple[GenerationSummary, ...]:
        """One summary per completed generation."""
        return tuple(self._summaries)

    def generation_summary(self) -> GenerationSummary:
        """Return the summary of the generation under way; population and tau are those it started with."""
        population = self._population
        return summarise(
            self.candidates,
            self.generation,
            alive=population.ranked,
            n_elites=len(population.elites),
            tau=population.tau,
        )

    def ask(self) -> tuple[Request, ...]:
        """Return the next samples or solves, independent of one another; empty when the search is over."""
        if not self._pending:
            self._pending = self._solve_requests() or self._sample_requests()
        return self._pending

    def tell(self, answers: tuple[Answer, ...]) -> None:
        """Take the answers to the last `ask`; nothing changes when they do not fit.

        Raises
        ------
        ValueError
            If the answers are not those to the requests of the last `ask`, in their order.
        """
        check_answers(self._pending, answers)
        requests, self._pending = self._pending, ()
        samples = [
            (request, answer)
            for request, answer in zip(requests, answers, strict=True)
            if isinstance(request, SampleRequest) and isinstance(answer, SampleAnswer)
        ]
        if samples:
            self._take_samples(samples)
        else:
            self._take_solves([answer for answer in answers if isinstance(answer, SolveAnswer)])

    def _remaining(self) -> int:
        left = self.config.samples - self._used
        if self.config.count_failures:
            return left
        return min(left, ATTEMPTS_PER_SAMPLE * self.config.samples - len(self._candidates))

    def _solve_requests(self) -> tuple[Request, ...]:
        return tuple(SolveRequest(id=candidate.id, candidate=candidate) for candidate in self._to_solve)

    def _sample_requests(self) -> tuple[Request, ...]:
        remaining = self._remaining()
        if remaining <= 0:
            return ()
        generation, self._begun = self._begun, self._begun + 1
        initialise: tuple[Operator, ...] = tuple("i1" for _ in range(self.config.initial))
        operators = self.config.operators if self._population.elites else initialise
        return tuple(
            self._sample_request(generation, position, operator)
            for position, operator in enumerate(operators[:remaining])
        )

    def _sample_request(self, generation: int, position: int, operator: Operator) -> SampleRequest:
        name = candidate_id(generation, position)
        parents: tuple[Candidate, ...] = ()
        if operator != "i1":
            parents = draw_parents(
                self._population.ranked,
                self.config.crossover_parents if operator in _CROSSOVERS else 1,
                population=self.config.population,
                rank_base=self.config.rank_base,
                rng=self._rng,
            )
        return SampleRequest(
            id=name,
            generation=generation,
            operator=operator,
            parents=parents,
            seed=candidate_seed(self.config.seed, name),
        )

    def _take_samples(self, samples: Sequence[tuple[SampleRequest, SampleAnswer]]) -> None:
        newcomers = []
        for request, answer in samples:
            first = self._first_with_sha.setdefault(answer.sha, request.id) if answer.sha else request.id
            candidate = sampled_candidate(request, answer, first if first != request.id else None)
            self._candidates[candidate.id] = candidate
            self._used += self.config.count_failures or candidate.valid
            newcomers.append(candidate)
        self._newcomers = tuple(candidate.id for candidate in newcomers)
        if self._population.elites:
            admission = self.config.admission
            self._to_solve = tuple(rule for rule in newcomers if self._population.admits(rule, admission))
        else:
            self._reserve = by_low_fidelity(newcomers)
            self._call_founders()
        if not self._to_solve:
            self._close_generation()

    def _take_solves(self, answers: Sequence[SolveAnswer]) -> None:
        solved = [
            solved_candidate(rule, answer) for rule, answer in zip(self._to_solve, answers, strict=True)
        ]
        self._to_solve = ()
        self._candidates.update({candidate.id: candidate for candidate in solved})
        if not self._population.elites and not by_high_fidelity(solved):
            self._call_founders()
        if not self._to_solve:
            self._close_generation()

    def _call_founders(self) -> None:
        count = founders(self.config)
        self._to_solve, self._reserve = self._reserve[:count], self._reserve[count:]

    def _close_generation(self) -> None:
        newcomers = [self._candidates[name] for name in self._newcomers]
        self._population = self._population.succeeded_by(newcomers, self.config)
        self._reserve = ()
        self._summaries.append(self.generation_summary())
