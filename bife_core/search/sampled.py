"""What all searches share: a budget of samples, rules that are told apart by hash, and the two calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bife_core.search.answers import answered_sample, check_answers
from bife_core.search.config import SearchConfig
from bife_core.search.population import by_high_fidelity, by_low_fidelity
from bife_core.search.seeding import sample_id, sample_seed
from bife_core.search.selection import draw_parents
from bife_core.search.types import (
    Answer,
    Fit,
    GenerationSummary,
    Operator,
    Request,
    Sample,
    SampleAnswer,
    SampleRequest,
)

Told = Sequence[tuple[Request, Answer]]
"""Requests with their answers, in order."""


class SampledSearch(ABC):
    """Base of searches: write `_next` (what to ask) and `_take` (what the answers change).

    A rule whose hash was seen before becomes a failure, `duplicate of <first id>`. `ask` gives the same requests
    again until they are answered.

    Parameters
    ----------
    config : SearchConfig
        All choices of the search, its seed included.
    """

    low_fidelity: ClassVar[bool] = True
    """Whether samples are scored with F_LF; decisions are recorded only for searches that need them."""

    high_fidelity: ClassVar[bool] = True
    """Whether rules are solved with, and the best is that of highest F_HF; without, it is that of highest F_LF."""

    draws_with_replacement: ClassVar[bool] = False
    """Whether a crossover may read the same rule twice while there are others."""

    def __init__(self, config: SearchConfig) -> None:
        self.config = config
        # PCG64 by name: `default_rng` may choose another bit generator in a later NumPy.
        self._rng = np.random.Generator(np.random.PCG64(config.drawn))
        self._samples: dict[str, Sample] = {}
        self._first_with_sha: dict[str, str] = {}
        self._begun = 0
        self._used = 0
        self._pending: tuple[Request, ...] = ()
        self._summaries: list[GenerationSummary] = []
        self._alive: tuple[Sample, ...] = ()

    @property
    def training_instances(self) -> int:
        """Number of training instances that trials speak of."""
        return 0

    @property
    def samples(self) -> tuple[Sample, ...]:
        """All samples so far, in the order they were sampled."""
        return tuple(self._samples.values())

    @property
    def best(self) -> Sample | None:
        """The rule the search would return now, answers of the generation under way included."""
        ranked = by_high_fidelity if self.high_fidelity else by_low_fidelity
        return next(iter(ranked(self.samples)), None)

    @property
    def population(self) -> tuple[Sample, ...]:
        """The rules alive after the last completed generation."""
        return self._alive

    @property
    def generation(self) -> int:
        """The generation last asked for; 0 is the initial population."""
        return max(0, self._begun - 1)

    @property
    def samples_used(self) -> int:
        """How much of the budget of `samples` is spent."""
        return self._used

    @property
    def summaries(self) -> tuple[GenerationSummary, ...]:
        """One summary per completed generation."""
        return tuple(self._summaries)

    def ask(self) -> tuple[Request, ...]:
        """Return the next requests, independent of one another; empty when the search is over."""
        if not self._pending:
            self._pending = self._next()
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
        self._take(tuple(zip(requests, answers, strict=True)))

    @abstractmethod
    def _next(self) -> tuple[Request, ...]:
        """Return what to ask next, all independent of one another; empty ends the search."""

    @abstractmethod
    def _take(self, told: Told) -> None:
        """Take the answers to what `_next` returned."""

    def _remaining(self) -> int:
        """Return how many samples the budget still allows."""
        return self.config.samples - self._used

    def _begin(self) -> None:
        """Begin a generation."""
        self._begun += 1

    def _close(self) -> None:
        """End the generation under way."""
        self._summaries.append(self._summary())

    def _summary(self) -> GenerationSummary:
        """Return the summary of the generation that ends."""
        samples, alive = self.samples, self.population
        own = [sample for sample in samples if sample.generation == self.generation]
        best_low, best_high = by_low_fidelity(samples)[:1], by_high_fidelity(samples)[:1]
        f_lf = [sample.f_lf for sample in alive if sample.f_lf is not None]
        return GenerationSummary(
            generation=self.generation,
            samples=len(own),
            failures=sum(not sample.valid for sample in own),
            solved=sum(sample.f_hf is not None for sample in own),
            samples_total=len(samples),
            failures_total=sum(not sample.valid for sample in samples),
            best_f_lf=best_low[0].f_lf if best_low else None,
            mean_f_lf=sum(f_lf) / len(f_lf) if f_lf else None,
            best_f_hf=best_high[0].f_hf if best_high else None,
            n_alive=len(alive),
        )

    def _samples_by(self, operators: Sequence[Operator]) -> tuple[Request, ...]:
        """Begin a generation with a sample by each of the operators, as many as the budget allows.

        Without operators it is an initialisation.
        """
        remaining = self._remaining()
        if remaining <= 0:
            return ()
        self._begin()
        asked = [
            self._sample(position, operator, self._parents(operator))
            for position, operator in enumerate((operators or self._initial())[:remaining])
        ]
        return (*asked, *self._brought(len(asked), "i1"))

    def _initial(self) -> tuple[Operator, ...]:
        """Return what makes the initial rules."""
        return tuple("i1" for _ in range(self.config.initial))

    def _brought(self, position: int, operator: Operator) -> tuple[SampleRequest, ...]:
        """Return the rules the search is to begin with, as samples of its first generation after `position` others."""
        rules = self.config.first_rules if self.generation == 0 else ()
        return tuple(
            self._sample(number, operator, source=source) for number, source in enumerate(rules, position)
        )

    def _sample(
        self,
        position: int,
        operator: Operator,
        parents: tuple[Sample, ...] = (),
        hints: tuple[str, ...] = (),
        source: str | None = None,
    ) -> SampleRequest:
        """Return the request for the sample at `position` of the generation under way."""
        name = sample_id(self.generation, position)
        return SampleRequest(
            id=name,
            generation=self.generation,
            operator=operator,
            parents=parents,
            hints=hints,
            seed=sample_seed(self.config.drawn, name),
            scored=self.low_fidelity,
            source=source,
            fit=self._fit(position, operator, parents),
        )

    def _fit(self, position: int, operator: Operator, parents: tuple[Sample, ...]) -> Fit | None:
        """Return how the rule of a sample is fitted; None where it is written."""
        return None

    @property
    def _mates(self) -> tuple[Sample, ...]:
        """Return the rules that parents are drawn from, by rank."""
        return self.population

    def _parents(self, operator: Operator) -> tuple[Sample, ...]:
        """Draw the parents of one of EoH's operators, by rank."""
        if operator == "i1":
            return ()
        return draw_parents(
            self._mates,
            self.config.crossover_parents if operator in ("e1", "e2") else 1,
            population=self.config.population,
            rng=self._rng,
            replacement=self.draws_with_replacement,
        )

    def _admit(self, told: Told) -> list[Sample]:
        """Enter the samples among the answers, charge the budget, and return them in order."""
        entered = []
        for request, answer in told:
            if not isinstance(request, SampleRequest) or not isinstance(answer, SampleAnswer):
                continue
            first = self._first_with_sha.setdefault(answer.sha, request.id) if answer.sha else request.id
            sample = answered_sample(request, answer, first if first != request.id else None)
            self._samples[sample.id] = sample
            # A rule that the search brought along was not asked of the generator.
            if request.source is None:
                self._used += 1
            entered.append(sample)
        return entered
