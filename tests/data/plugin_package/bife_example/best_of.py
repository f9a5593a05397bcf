"""Best of many: rules without parents, and solves for those of highest F_LF."""

from __future__ import annotations

from bife_core.config import SearchConfig
from bife_core.search.answers import solved_sample
from bife_core.search.population import by_low_fidelity
from bife_core.search.sampled import SampledSearch, Told
from bife_core.search.types import (
    Request,
    Sample,
    SolveAnswer,
    SolveRequest,
)


class BestOfSearch(SampledSearch):
    def __init__(self, config: SearchConfig) -> None:
        super().__init__(config)
        self._chosen: tuple[Sample, ...] = ()

    def _next(self) -> tuple[Request, ...]:
        if self._chosen:
            return tuple(SolveRequest(id=rule.id, sample=rule) for rule in self._chosen)
        remaining = self._remaining()
        if remaining <= 0:
            return ()
        self._begin()
        return tuple(self._sample(position, "i1") for position in range(remaining))

    def _take(self, told: Told) -> None:
        if not self._chosen:
            self._chosen = by_low_fidelity(self._admit(told))[: self.config.population]
        else:
            for rule, (_, answer) in zip(self._chosen, told, strict=True):
                if isinstance(answer, SolveAnswer):
                    self._samples[rule.id] = solved_sample(rule, answer)
            self._chosen = ()
        if not self._chosen:
            self._close()
