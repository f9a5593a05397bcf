"""The control of every search: BiFE with rules that have no parents, so that nothing is learnt from one to the next."""

from __future__ import annotations

from bife_core.search.bife import BifeSearch
from bife_core.search.types import Operator


class RandomSearch(BifeSearch):
    """Operator i1 alone behind `ask` and `tell`, at the same budget, with the same threshold and solves.

    Examples
    --------
    >>> from bife_core.search.config import SearchConfig
    >>> search = RandomSearch(SearchConfig(method="random", samples=20))
    >>> {request.operator for request in search.ask()}
    {'i1'}
    """

    @property
    def operators(self) -> tuple[Operator, ...]:
        """As many first rules as the configured operators would make."""
        return tuple("i1" for _ in self.config.operators)

    @property
    def _fitted_share(self) -> float:
        return 0.0
