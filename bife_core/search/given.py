"""Rules that somebody else writes, such as a coding agent, and a search only scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bife_core.search.bife import BifeSearch
from bife_core.search.types import Operator, Request, Sample, SampleRequest

GIVEN: Final = "given"
"""Name of the search, and of the generator that passes on what somebody wrote."""


class GivenSearch(BifeSearch):
    """One rule a generation; each valid one that chooses in a new way is solved with, and raced against the elites."""

    operators: tuple[Operator, ...] = ("i1",)

    def propose(self) -> tuple[Request, ...]:
        """Return solves for the rule that was sampled, or else a request for the next."""
        return super().propose() if self._to_solve else self.sample_requests(self.operators)

    def sample_request(
        self, position: int, operator: Operator, parents: tuple[Sample, ...] = (), **fields: Any
    ) -> SampleRequest:
        """Return the request for a rule, which is scored where it can be: a configuration scores no candidates."""
        return (
            super().sample_request(position, operator, parents, **fields).model_copy(update={"scored": False})
        )

    def _earns_solves(self, newcomers: Sequence[Sample]) -> tuple[Sample, ...]:
        return self._without_duplicates(rule for rule in newcomers if rule.valid)
