"""BiFE with rules that nobody writes: each is fitted to the recorded decisions, the best become parents of the next.

Of the initial rules every second has its factors added one after the other, once for each line of descent and size;
the others, and all rules of later generations, are bred. A rule may have 2, 3, ... factors in turn, so that the
population holds small rules and large ones, and F_HF says which earn their features.

F_LF is compared within a line alone. Rules that rest on other features agree with strong branching where
the others do not, and which agreement is worth most only solves can say: so each line founds the elite set, the elites
are the parents, and a rule is solved with where it reaches the tau of its line. Everything else is BiFE.
"""

from __future__ import annotations

from bife_core.search.bife import BifeSearch
from bife_core.search.config import SearchConfig
from bife_core.search.population import by_low_fidelity, founders, line_by_line, reaches, threshold
from bife_core.search.types import Operator, Sample


class SymbolicSearch(BifeSearch):
    """Fitted and bred rules behind `ask` and `tell`.

    Examples
    --------
    >>> from bife_core.search.config import SearchConfig
    >>> search = SymbolicSearch(SearchConfig(method="symbolic", samples=4, initial=4))
    >>> [(request.operator, request.fit.terms, request.fit.line) for request in search.ask()]
    [('fit', 2, 0), ('fit', 2, 0), ('fit', 3, 1), ('fit', 3, 1)]
    """

    def __init__(self, config: SearchConfig) -> None:
        super().__init__(config)
        self._tau_of_line: dict[int, float] = {}

    @property
    def operators(self) -> tuple[Operator, ...]:
        """As many fitted rules as the configured operators would make."""
        return tuple("fit" for _ in self.config.operators)

    @property
    def tau(self) -> float | None:
        """The lowest tau of a line; None while there is no elite."""
        return min(self._tau_of_line.values(), default=self._tau)

    @property
    def _fitted_share(self) -> float:
        return 1.0

    @property
    def _lines(self) -> int:
        return self.config.symbolic.lines

    def _call_founders(self) -> tuple[Sample, ...]:
        # However few are to found the elite, one of each line does.
        lines = line_by_line(by_low_fidelity(self._reserve))
        count = max(founders(self.config), len({rule.line for rule in lines}))
        called, self._reserve = lines[:count], lines[count:]
        return called

    def _set_tau(self) -> None:
        super()._set_tau()
        self._tau_of_line.clear()
        valid = len(by_low_fidelity(self.samples))
        for line in {elite.line for elite in self.elites if elite.line is not None}:
            elites = [elite for elite in self.elites if elite.line == line]
            own = (sample for sample in self.samples if sample.line == line)
            tau = threshold(elites, own, self.config, of=valid)
            if tau is not None:
                self._tau_of_line[line] = tau

    def _reaches_tau(self, rule: Sample) -> bool:
        # A child of a rule that was brought along, of no line, may be of one that has no elite.
        tau = self._tau if rule.line is None else self._tau_of_line.get(rule.line, self._tau)
        return reaches(rule, tau)

    @property
    def _mates(self) -> tuple[Sample, ...]:
        # What only agrees with the decisions is no parent, for breeding has them all at hand.
        return self.elites

    def _parents(self, operator: Operator) -> tuple[Sample, ...]:
        # Breeding joins and varies what it is given: it has two parents as a crossover has, and is of the line of the
        # better one.
        return tuple(sorted(super()._parents("e2"), key=self._mates.index))
