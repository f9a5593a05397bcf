"""EoH on F_LF alone, as the paper compares with it: no rule is solved with before the final evaluation.

The loop is that of LLM4AD, which the paper's budget of 8 and 16 rules points to: an initial population of
operator i1, then generations of N samples for which the other operators take turns. What it leaves open:

- A generation without any valid rule to draw parents from is another initialisation.
- Of rules with the same F_LF to five decimals only the first survives; they are taken for the same rule.
- Parents are drawn by rank with replacement, so that a crossover may read the same rule twice.
"""

from __future__ import annotations

from typing import ClassVar, Final

from bife_core.generators.base import Operator
from bife_core.search.config import SearchConfig
from bife_core.search.population import by_low_fidelity
from bife_core.search.sampled import SampledSearch, Told
from bife_core.search.types import Request, Sample

_DECIMALS: Final = 5


class EohSearch(SampledSearch):
    """EoH behind `ask` and `tell`; one step makes a generation.

    Examples
    --------
    >>> search = EohSearch(SearchConfig(method="eoh", samples=6, initial=2, population=4))
    >>> [request.operator for request in search.ask()]
    ['i1', 'i1']
    """

    draws_with_replacement: ClassVar[bool] = True

    def __init__(self, config: SearchConfig) -> None:
        super().__init__(config)
        self._alive: tuple[Sample, ...] = ()
        self._turn = 0

    @property
    def population(self) -> tuple[Sample, ...]:
        """The rules alive after the last generation, highest F_LF first."""
        return self._alive

    @property
    def best(self) -> Sample | None:
        """The valid rule of highest F_LF."""
        return next(iter(by_low_fidelity(self.samples)), None)

    def _next(self) -> tuple[Request, ...]:
        remaining = self._remaining()
        if remaining <= 0:
            return ()
        self._begin()
        if not self._alive:
            return tuple(
                self._sample(position, "i1") for position in range(min(self.config.initial, remaining))
            )
        return tuple(
            self._sample(position, operator, self._parents(operator))
            for position, operator in enumerate(self._turns(min(self.config.population, remaining)))
        )

    def _turns(self, count: int) -> tuple[Operator, ...]:
        operators = self.config.operators
        begun, self._turn = self._turn, self._turn + count
        return tuple(operators[turn % len(operators)] for turn in range(begun, begun + count))

    def _take(self, told: Told) -> None:
        newcomers = self._admit(told)
        distinct: dict[float, Sample] = {}
        for sample in by_low_fidelity((*self._alive, *newcomers)):
            assert sample.f_lf is not None
            distinct.setdefault(round(sample.f_lf, _DECIMALS), sample)
        self._alive = tuple(distinct.values())[: self.config.population]
        self._close()
