"""What became of a request: the event that a study stores, and that its search is told."""

from __future__ import annotations

import math
from typing import Any

from pydantic import Field

from bife_core.measure.high import HighScore
from bife_core.measure.low import LowScore
from bife_core.search.types import (
    FIDELITIES,
    Draft,
    Entry,
    Request,
    Sample,
    SampleRequest,
    SearchCost,
    TrialRequest,
)


class Answered(Entry):
    """What became of a request; what is not known, or was not asked for, is None.

    A rule has a `draft`, then F_LF in `low` too; a reflection has a `draft`; what was solved has its costs in `high`.
    A sample takes over what its draft and scores have fields of the same name for.
    """

    request: Request = Field(discriminator="kind")
    draft: Draft | None = None
    low: LowScore | None = None
    high: HighScore | None = None

    @property
    def subject(self) -> str:
        """Kind and id of the request."""
        return self.request.subject

    @property
    def _facts(self) -> dict[str, Any]:
        """What the answer says of a sample, by its fields."""
        parts = filter(None, (getattr(self, name) for name in self.request.parts))
        return {k: v for part in parts for k, v in part if k in Sample.model_fields and v is not None}

    @property
    def failure(self) -> str | None:
        """The sentence why what was asked for is not there, or None; a number that is not finite is not there."""
        last = self.high or self.low or self.draft
        if last is not None and last.failure is not None:
            return last.failure
        facts, request, costs = self._facts, self.request, self.high.costs if self.high else ()
        numbers = [(name.upper(), facts[name]) for name in FIDELITIES if name in facts]
        for label, value in [*numbers, *(("A cost", cost) for cost in costs if cost is not None)]:
            if not math.isfinite(value):
                return f"{label} is {value}, not a finite number"
        if "eliminated" in facts:
            return None
        if request.fidelity not in ("", *facts) and getattr(request, "scored", True):
            return f"no {request.fidelity.upper()} was reported"
        count = len(costs) - costs.count(None)
        if isinstance(request, TrialRequest) and count != len(request.instances):
            return f"{count} costs were reported for {len(request.instances)} instances"
        return None

    @property
    def sample(self) -> Sample:
        """The rule that was asked for, or that was solved with, and what is known of it now."""
        if (rule := self.request.rule) is None:
            raise TypeError(f"A {self.request.kind} gives no sample.")
        sample = rule.model_copy(update=self._facts | {"failure": self.failure})
        if sample.valid and sample.eliminated is None:
            return sample
        return sample.model_copy(update={self.request.fidelity: None})

    def charged(self, cost: SearchCost) -> SearchCost:
        """Return the cost of a search with what the answer took, whenever that was."""
        request, f_hf = self.request, self._facts.get("f_hf")
        scores = {part: getattr(self, name) for name, part in request.parts.items()}
        seconds = {part: score.seconds for part, score in scores.items() if score is not None}
        is_given = isinstance(request, SampleRequest) and request.source is not None
        cost = cost.plus("" if is_given else request.counts_as, **seconds)
        return cost if request.rule is None or f_hf is None else cost.reaching(f_hf, request.id)
