"""BiFE with rules that nobody writes: each is fitted to the recorded decisions, the best become parents of the next.

Of the initial rules every second has its factors added one after the other; the others, and all rules of later
generations, are bred. A rule may have 2, 3, ... factors in turn, so that the population holds small rules and large
ones, and F_HF says which earn their features. Everything else is BiFE: threshold, solves, elites.
"""

from __future__ import annotations

from typing import ClassVar, Final

from bife_core.search.bife import BifeSearch
from bife_core.search.types import Fit, Operator, Sample, SampleRequest

_LEAST_TERMS: Final = 2


class SymbolicSearch(BifeSearch):
    """Fitted and bred rules behind `ask` and `tell`.

    Examples
    --------
    >>> from bife_core.search.config import SearchConfig
    >>> search = SymbolicSearch(SearchConfig(method="symbolic", samples=4, initial=4))
    >>> [(request.operator, request.fit.terms, request.fit.children > 0) for request in search.ask()]
    [('fit', 2, False), ('fit', 2, True), ('fit', 3, False), ('fit', 3, True)]
    """

    first_operator: ClassVar[Operator] = "fit"

    @property
    def operators(self) -> tuple[Operator, ...]:
        """As many fitted rules as the configured operators would make."""
        return tuple("fit" for _ in self.config.operators)

    def _sample(
        self,
        position: int,
        operator: Operator,
        parents: tuple[Sample, ...] = (),
        hints: tuple[str, ...] = (),
        source: str | None = None,
    ) -> SampleRequest:
        request = super()._sample(position, operator, parents, hints, source)
        if source is not None:
            return request
        settings, first = self.config.symbolic, not parents
        sizes = settings.terms - _LEAST_TERMS + 1
        place = position // 2 if first else self.generation + position
        bred = not first or position % 2 == 1
        fit = Fit(terms=_LEAST_TERMS + place % sizes, children=settings.children if bred else 0)
        return request.model_copy(update={"fit": fit})

    def _parents(self, operator: Operator) -> tuple[Sample, ...]:
        # Breeding joins and varies what it is given: it has two parents as a crossover has.
        return super()._parents("e2") if self.population else ()
