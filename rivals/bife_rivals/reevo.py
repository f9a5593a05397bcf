"""ReEvo on F_LF alone, as the paper compares with it: search with reflections in words.

One generation: pairs of rules of different F_LF are drawn uniformly; a short-term reflection on each pair says what
makes the better one better; a crossover of the pair is written with that hint; one long-term reflection joins the
lesson so far with the new hints; mutants of the best rule are written with it. Crossovers and mutants replace the
population; the best rule so far is drawn from even when it is no longer in it. What ReEvo leaves open is answered in
`docs/research/rivals.md`; besides, a reflection that fails leaves its crossover without a hint, or the lesson as
it was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from pydantic import Field

from bife_core.extend import (
    REFERENCE_RULES,
    Answered,
    BaseSearch,
    ReflectionRequest,
    Request,
    Sample,
    SampleRequest,
    SearchConfig,
    Value,
    by_low_fidelity,
    sample_id,
    sample_seed,
)
from bife_rivals import prompt

SEED_RULE: Final = "pseudocost_product"
_TRIES: Final = 1000

_Step = Literal["initialise", "compare", "cross", "learn", "mutate"]


class ReevoOptions(Value):
    """ReEvo's own settings."""

    mutation_rate: float = Field(0.5, ge=0, le=1, description="Mutants of the best rule, as a share of N.")
    count_reflections: bool = Field(False, description="Whether a reflection uses up budget as a rule does.")


class ReevoSearch(BaseSearch):
    """ReEvo behind `ask` and `tell`; reflections, crossovers, a reflection and mutants make a generation.

    Examples
    --------
    >>> search = ReevoSearch(SearchConfig(algorithm="reevo", samples=8, initial=2, population=4))
    >>> [(request.operator, request.source is None) for request in search.ask()]
    [('improve_seed', False), ('improve_seed', True), ('improve_seed', True)]
    """

    high_fidelity: ClassVar[bool] = False
    Options: ClassVar[type[Value]] = ReevoOptions
    options: ReevoOptions

    def __init__(self, config: SearchConfig) -> None:
        super().__init__(config)
        self._step: _Step = "initialise"
        self._pairs: tuple[tuple[Sample, Sample], ...] = ()
        self._hints: tuple[str | None, ...] = ()
        self._children: tuple[Sample, ...] = ()
        self._lesson: str | None = None
        self._reflections = 0

    def remaining(self) -> int:
        """Return how many samples the budget still allows, reflections counted where they use it up."""
        return super().remaining() - (self._reflections if self.options.count_reflections else 0)

    def propose(self) -> tuple[Request, ...]:
        """Return what to ask next."""
        if self._step == "learn":
            hints = tuple(hint for hint in (self._lesson, *self._hints) if hint)
            return (self._reflect("long", "long_term_reflection", hints=hints),)
        remaining = self.remaining()
        if remaining <= 0:
            # Only reflections that use up budget can end it within a generation.
            if self._step in ("cross", "mutate"):
                self._end_generation(self._children)
            return ()
        if self._step == "cross":
            crossed = zip(self._pairs, self._hints, strict=True)
            return tuple(
                self._written(position, "reflective_crossover", pair, (hint,) if hint else ())
                for position, (pair, hint) in enumerate(crossed)
            )[:remaining]
        if self._step == "mutate":
            assert self.best is not None
            lesson = (self._lesson,) if self._lesson else ()
            return tuple(
                self._written(len(self._children) + number, "elitist_mutation", (self.best,), lesson)
                for number in range(min(self._mutants(), remaining))
            )
        self.begin_generation()
        self._children = ()
        if self._step == "compare":
            # Where reflections use up budget, a pair costs two of it.
            affordable = remaining // 2 if self.options.count_reflections else remaining
            self._pairs = self._draw_pairs(min(self.config.population, affordable))
        if self._step == "initialise" or not self._pairs:
            self._step = "initialise"
            return self._initial_requests(remaining)
        return tuple(
            self._reflect(f"r{number:02d}", "short_term_reflection", pair)
            for number, pair in enumerate(self._pairs)
        )

    def _initial_requests(self, remaining: int) -> tuple[Request, ...]:
        source = REFERENCE_RULES[SEED_RULE].source
        name = sample_id(0, 0)
        parent = Sample(id=name, generation=0, operator="improve_seed", source=source)
        seed = [self.sample_request(0, "improve_seed", source=source)] if self.generation == 0 else []
        count = min(self.config.initial, remaining)
        requests = [self._written(len(seed) + number, "improve_seed", (parent,)) for number in range(count)]
        return (*seed, *requests, *self.first_rules(len(seed) + count, "improve_seed"))

    def _written(
        self, position: int, operator: str, parents: tuple[Sample, ...], hints: tuple[str, ...] = ()
    ) -> SampleRequest:
        return self.sample_request(position, operator, parents, hints=hints, prompt=prompt(operator))

    def _reflect(
        self, name: str, operator: str, parents: tuple[Sample, ...] = (), hints: tuple[str, ...] = ()
    ) -> ReflectionRequest:
        key = f"g{self.generation:02d}-{name}"
        return ReflectionRequest(
            id=key,
            generation=self.generation,
            operator=operator,
            parents=parents,
            hints=hints,
            prompt=prompt(operator),
            seed=sample_seed(self.config.drawn, key),
        )

    def _draw_pairs(self, count: int) -> tuple[tuple[Sample, Sample], ...]:
        """Draw pairs of different F_LF, worse rule first; none if all rules have the same."""
        best = self.best
        pool = self.population if best is None or best in self.population else (*self.population, best)
        if len({rule.f_lf for rule in pool}) < 2:
            return ()
        pairs: list[tuple[Sample, Sample]] = []
        for _ in range(_TRIES):
            if len(pairs) == count:
                break
            first, second = (pool[int(self.rng.random() * len(pool))] for _ in range(2))
            if first.f_lf != second.f_lf:
                better, worse = by_low_fidelity((first, second))
                pairs.append((worse, better))
        return tuple(pairs)

    def _mutants(self) -> int:
        return math.floor(round(self.options.mutation_rate * self.config.population, 9))

    def learn(self, answers: Sequence[Answered]) -> None:
        """Take the answers to what `propose` returned."""
        texts = tuple(
            answer.draft.text if answer.draft else None
            for answer in answers
            if isinstance(answer.request, ReflectionRequest)
        )
        self._reflections += len(texts)
        newcomers = tuple(self.admit(answers))
        match self._step:
            case "initialise":
                requests = (answer.request for answer in answers)
                brought = {r.id for r in requests if isinstance(r, SampleRequest) and r.source is not None}
                self._end_generation(tuple(rule for rule in newcomers if rule.id not in brought))
            case "compare":
                self._hints, self._step = texts, "cross"
            case "cross":
                self._children = newcomers
                due = self._mutants() > 0 and self.remaining() > 0 and self.best is not None
                self._step = "learn" if due and any(self._hints) else "mutate"
                if not due:
                    self._end_generation(self._children)
            case "learn":
                self._lesson, self._step = texts[0] or self._lesson, "mutate"
            case "mutate":
                self._end_generation((*self._children, *newcomers))

    def _end_generation(self, newcomers: tuple[Sample, ...]) -> None:
        self.population = by_low_fidelity(newcomers)
        self._step = "compare"
        self.end_generation()
