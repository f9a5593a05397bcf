"""Best of many: rules without parents, and solves for those of highest F_LF."""

from __future__ import annotations

from collections.abc import Sequence

from bife_core.extend import (
    Answered,
    BaseSearch,
    Request,
    Sample,
    SearchConfig,
    SolveRequest,
    by_low_fidelity,
)


class BestOfSearch(BaseSearch):
    def __init__(self, config: SearchConfig) -> None:
        super().__init__(config)
        self._chosen: tuple[Sample, ...] = ()

    def propose(self) -> tuple[Request, ...]:
        if self._chosen:
            return tuple(SolveRequest(id=rule.id, sample=rule) for rule in self._chosen)
        remaining = self.remaining()
        if remaining <= 0:
            return ()
        self.begin_generation()
        return tuple(self.sample_request(position, "i1") for position in range(remaining))

    def learn(self, answers: Sequence[Answered]) -> None:
        if not self._chosen:
            self._chosen = by_low_fidelity(self.admit(answers))[: self.config.population]
        else:
            for answer in answers:
                self.update(answer.sample)
            self._chosen = ()
        if not self._chosen:
            self.end_generation()
