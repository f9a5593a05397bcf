"""BiFE without F_LF, the paper's ablation: the same operators and sizes, and every valid rule is solved with.

Samples are checked but not scored with F_LF, so no decisions are recorded for it. The N rules of highest F_HF
survive a generation, and parents are drawn from them by rank. A generation whose solves all failed, or which gave
no valid rule while none is alive, is followed by another initialisation.
"""

from __future__ import annotations

from typing import ClassVar

from bife_core.generators.base import Operator
from bife_core.search.answers import solved_sample
from bife_core.search.config import SearchConfig
from bife_core.search.population import by_high_fidelity
from bife_core.search.sampled import SampledSearch, Told
from bife_core.search.types import Request, Sample, SolveAnswer, SolveRequest


class HighOnlySearch(SampledSearch):
    """BiFE without F_LF behind `ask` and `tell`; samples and then solves make a generation.

    Examples
    --------
    >>> from bife_core.search import SampleAnswer
    >>> search = HighOnlySearch(SearchConfig(method="bife_without_f_lf", samples=1, initial=1))
    >>> search.ask()[0].scored
    False
    >>> search.tell((SampleAnswer(id="g00-c00"),))
    >>> search.ask()[0].kind
    'solve'
    """

    low_fidelity: ClassVar[bool] = False

    def __init__(self, config: SearchConfig) -> None:
        super().__init__(config)
        self._alive: tuple[Sample, ...] = ()
        self._to_solve: tuple[Sample, ...] = ()

    @property
    def population(self) -> tuple[Sample, ...]:
        """The rules alive after the last completed generation, highest F_HF first."""
        return self._alive

    @property
    def best(self) -> Sample | None:
        """The rule of highest F_HF."""
        return next(iter(by_high_fidelity(self.samples)), None)

    def _next(self) -> tuple[Request, ...]:
        if self._to_solve:
            return tuple(SolveRequest(id=rule.id, sample=rule) for rule in self._to_solve)
        remaining = self._remaining()
        if remaining <= 0:
            return ()
        self._begin()
        initialise: tuple[Operator, ...] = tuple("i1" for _ in range(self.config.initial))
        operators = self.config.operators if self._alive else initialise
        return tuple(
            self._sample(position, operator, self._parents(operator))
            for position, operator in enumerate(operators[:remaining])
        )

    def _take(self, told: Told) -> None:
        if not self._to_solve:
            self._to_solve = tuple(rule for rule in self._admit(told) if rule.valid)
            if self._to_solve:
                return
        solved = [
            solved_sample(rule, answer)
            for rule, (_, answer) in zip(self._to_solve, told, strict=False)
            if isinstance(answer, SolveAnswer)
        ]
        self._to_solve = ()
        self._samples.update({rule.id: rule for rule in solved})
        self._alive = by_high_fidelity((*self._alive, *solved))[: self.config.population]
        self._close()
