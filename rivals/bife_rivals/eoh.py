"""EoH on F_LF alone, as the paper compares with it: no rule is solved with before the final evaluation.

The loop is that of LLM4AD, which the paper's budget of 8 and 16 rules points to: an initial population of
operator i1, then generations of N samples for which the other operators take turns. What it leaves open:

- A generation without any valid rule to draw parents from is another initialisation.
- Of rules with the same F_LF to five decimals only the first survives; they are taken for the same rule.
- Parents are drawn by rank with replacement, so that a crossover may read the same rule twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bife_core.extend import Answered, BaseSearch, Request, Sample, by_low_fidelity


class EohSearch(BaseSearch):
    """EoH behind `ask` and `tell`; one step makes a generation.

    Examples
    --------
    >>> from bife_core.search.config import SearchConfig
    >>> search = EohSearch(SearchConfig(algorithm="eoh", samples=6, initial=2, population=4))
    >>> [request.operator for request in search.ask()]
    ['i1', 'i1']
    """

    draws_with_replacement: ClassVar[bool] = True
    high_fidelity: ClassVar[bool] = False
    _turn = 0

    def propose(self) -> tuple[Request, ...]:
        """Return what to ask next."""
        if not self.population:
            return self.sample_requests(())
        operators, end = self.operators, self._turn + self.config.population
        requests = self.sample_requests([operators[turn % len(operators)] for turn in range(self._turn, end)])
        self._turn += len(requests)
        return requests

    def learn(self, answers: Sequence[Answered]) -> None:
        """Take the answers to what `propose` returned."""
        newcomers = self.admit(answers)
        distinct: dict[float, Sample] = {}
        for sample in by_low_fidelity((*self.population, *newcomers)):
            assert sample.f_lf is not None
            distinct.setdefault(round(sample.f_lf, 5), sample)
        self.population = tuple(distinct.values())[: self.config.population]
        self.end_generation()
