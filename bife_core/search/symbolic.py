"""BiFE with rules that nobody writes: each is fitted to the recorded decisions, the best become parents of the next.

Of the initial rules one of each size has its factors added one after the other; the others, and all rules of later
generations, are bred. A rule may have 2, 3, ... factors in turn, so that the population holds small rules and large
ones, and F_HF says which earn their features. Everything else is BiFE: threshold, solves, elites.
"""

from __future__ import annotations

from bife_core.search.bife import BifeSearch
from bife_core.search.types import Operator, Sample


class SymbolicSearch(BifeSearch):
    """Fitted and bred rules behind `ask` and `tell`.

    Examples
    --------
    >>> from bife_core.search.config import SearchConfig
    >>> search = SymbolicSearch(SearchConfig(method="symbolic", samples=4, initial=4))
    >>> [(request.operator, request.fit.terms, request.fit.children > 0) for request in search.ask()]
    [('fit', 2, False), ('fit', 2, True), ('fit', 3, False), ('fit', 3, True)]
    """

    @property
    def operators(self) -> tuple[Operator, ...]:
        """As many fitted rules as the configured operators would make."""
        return tuple("fit" for _ in self.config.operators)

    @property
    def _fitted_share(self) -> float:
        return 1.0

    def _parents(self, operator: Operator) -> tuple[Sample, ...]:
        # Breeding joins and varies what it is given: it has two parents as a crossover has.
        return super()._parents("e2")
