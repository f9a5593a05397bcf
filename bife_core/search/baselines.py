"""Searches to compare with: random search, and BiFE without F_LF.

`random` is BiFE with rules that have no parents: nothing is learnt from one rule to the next.

`bife_without_f_lf` is the paper's ablation: the same operators and sizes, and every valid rule is solved with. Samples
are checked but not scored with F_LF, so no decisions are recorded. The N rules of highest F_HF survive a generation,
and parents are drawn from them by rank. A generation whose solves all failed, or which gave no valid rule while none is
alive, is followed by another initialisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bife_core.search.base import OPERATORS
from bife_core.search.bife import BifeSearch
from bife_core.search.population import by_high_fidelity
from bife_core.search.types import Operator, Sample


class RandomSearch(BifeSearch):
    """Operator i1 alone behind `ask` and `tell`, at the same budget, with the same threshold and solves.

    Examples
    --------
    >>> from bife_core.search.config import SearchConfig
    >>> search = RandomSearch(SearchConfig(method="random", samples=20))
    >>> {request.operator for request in search.ask()}
    {'i1'}
    """

    operators: tuple[Operator, ...] = ("i1",) * len(OPERATORS)


class HighOnlySearch(BifeSearch):
    """BiFE without F_LF behind `ask` and `tell`; samples and then solves make a generation.

    Examples
    --------
    >>> from bife_core.search import Answer
    >>> from bife_core.search.config import SearchConfig
    >>> search = HighOnlySearch(SearchConfig(method="bife_without_f_lf", samples=1, initial=1))
    >>> search.ask()[0].scored
    False
    >>> search.tell((Answer(id="g00-c00"),))
    >>> search.ask()[0].kind
    'solve'
    """

    low_fidelity: ClassVar[bool] = False

    @property
    def _ancestors(self) -> tuple[Sample, ...]:
        return self.population

    def _earns_solves(self, newcomers: Sequence[Sample]) -> tuple[Sample, ...]:
        return tuple(rule for rule in newcomers if rule.valid)

    def _survive(self, newcomers: Sequence[Sample]) -> None:
        self._others = by_high_fidelity((*self._others, *newcomers))[: self.config.population]
