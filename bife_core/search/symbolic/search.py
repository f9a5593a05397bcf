"""BiFE with rules that are fitted to the recorded decisions; the best become parents of the next.

Of the initial rules every second has its factors added one by one, once for each niche and size; all others are bred.
Sizes alternate, so that F_HF says which factors earn their features. F_LF is compared within a niche alone: each niche
founds the elite set, the elites are the parents, and a rule is solved with that reaches its niche's tau.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from pydantic import Field

from bife_core.base.values import Value
from bife_core.measure.decisions.recorded import Decisions
from bife_core.search.base import OPERATORS
from bife_core.search.bife import BifeSearch
from bife_core.search.config import SearchConfig
from bife_core.search.generators.offline.source import describe, write
from bife_core.search.population import by_low_fidelity, founders, niche_by_niche, reaches, threshold
from bife_core.search.symbolic.drafting import fit_rules
from bife_core.search.symbolic.fitting import Columns, Fitter
from bife_core.search.types import Operator, Sample, SampleRequest

LEAST_TERMS: Final = 2
"""Factors of the smallest rules that are fitted."""

_GOOD: Final = 0.15  # share of the formulas made that are good enough to become a rule


class SymbolicOptions(Value):
    """How rules are fitted to the recorded decisions."""

    terms: int = Field(6, ge=LEAST_TERMS, description="Factors a fitted rule may have.")
    children: int = Field(300, ge=1, description="Formulas bred before a rule is chosen.")
    niches: int = Field(
        4,
        ge=1,
        description="Niches of the initial rules, each without the kind of feature (pseudocosts, fractionality, ...) "
        "that those before it begin with; beyond the kinds there are, they repeat.",
    )


class SymbolicSearch(BifeSearch):
    """Fitted and bred rules behind `ask` and `tell`; `tau` is the lowest of a niche."""

    operators: tuple[Operator, ...] = ("fit",) * len(OPERATORS)
    founding: ClassVar[Operator] = "fit"
    origin: ClassVar[str] = "fitted"
    crosses_niches: ClassVar[bool] = False  # it has niches of its own
    Options: ClassVar[type[Value]] = SymbolicOptions
    options: SymbolicOptions

    def __init__(self, config: SearchConfig) -> None:
        super().__init__(config)
        self._tau_of_all: float | None = None
        self._tau_of_niche: dict[int, float] = {}

    def sample_request(
        self, position: int, operator: Operator, parents: tuple[Sample, ...] = (), **fields: Any
    ) -> SampleRequest:
        """Return the request for a sample, and how it is fitted."""
        if operator == "fit":
            fields["training"] = self._training(position, parents)
        return super().sample_request(position, operator, parents, **fields)

    def _training(self, position: int, parents: tuple[Sample, ...]) -> dict[str, int]:
        """Return how a rule is fitted, see `fit_rules`, and which of those found is chosen: 0 is the likeliest."""
        options = self.options
        niches, sizes = options.niches, options.terms - LEAST_TERMS + 1
        if parents:
            terms = LEAST_TERMS + (self.generation + position) % sizes
            chosen = {"rank": position, "niche": parents[0].niche or 0}
            return {"terms": terms, "children": options.children, **chosen}
        # Niches and sizes alternate. At first every second rule has its factors added one by one, once for each
        # niche and size, since nothing is drawn for that.
        once = 0 if self.generation > 0 else niches * sizes
        selected = min((position + 1) // 2, once)
        is_selected = position % 2 == 0 and position // 2 < once
        number = selected if is_selected else position - selected
        terms = LEAST_TERMS + (number + number // math.lcm(niches, sizes)) % sizes
        children, rank = (0, 0) if is_selected else (options.children, number // niches)
        return {"terms": terms, "children": children, "rank": rank, "niche": number % niches}

    @staticmethod
    def train(decisions: Path | None, folder: Path, training: dict[str, Any]) -> dict[str, Any]:
        """Fit a rule to the recorded decisions."""
        assert decisions is not None
        rng = np.random.Generator(np.random.PCG64(training["seed"]))
        arguments = {name: training[name] for name in ("terms", "children", "niche", "parents", "others")}
        formulas = fit_rules(_fitter(decisions), rng, **arguments)
        if not formulas:
            return {"failure": "No other formula distinguishes the candidates of the recorded decisions."}
        # Far down the list are formulas that were made and never improved upon.
        chosen = formulas[training["rank"] % math.ceil(_GOOD * len(formulas))].root
        how = "bred" if training["children"] else "its factors added one by one"
        thought = f"Fitted to the recorded decisions, {how}: {describe(chosen)}."
        return {"source": write(chosen), "thought": thought}

    def _call_founders(self) -> tuple[Sample, ...]:
        # However few are to found the elite, one of each niche does.
        ranked = niche_by_niche(by_low_fidelity(self._reserve))
        count = max(founders(self.config), len({rule.niche for rule in ranked}))
        called, self._reserve = ranked[:count], ranked[count:]
        return called

    def _set_tau(self) -> None:
        super()._set_tau()
        self._tau_of_all = self.tau
        self._tau_of_niche.clear()
        valid = len(by_low_fidelity(self.samples))
        for niche in {elite.niche for elite in self.elites if elite.niche is not None}:
            elites = [elite for elite in self.elites if elite.niche == niche]
            of_niche = (sample for sample in self.samples if sample.niche == niche)
            tau = threshold(elites, of_niche, self.config, of=valid)
            if tau is not None:
                self._tau_of_niche[niche] = tau
        self.tau = min(self._tau_of_niche.values(), default=self._tau_of_all)

    def _reaches_tau(self, rule: Sample) -> bool:
        # A child of a first rule, which has no niche, may be of a niche that has no elite.
        overall = self._tau_of_all
        return reaches(rule, overall if rule.niche is None else self._tau_of_niche.get(rule.niche, overall))

    @property
    def parent_pool(self) -> tuple[Sample, ...]:
        """The elites: a rule that only agrees with the decisions is no parent, for breeding has them all at hand."""
        return self.elites

    def choose_parents(self, operator: Operator) -> tuple[Sample, ...]:
        """Draw two elites, as for a crossover, better one first: the child is of its niche."""
        return tuple(sorted(super().choose_parents("e2"), key=self.parent_pool.index))


@lru_cache(maxsize=2)
def _fitter(decisions: Path) -> Fitter:
    return Fitter(Columns(Decisions.load(decisions)))
