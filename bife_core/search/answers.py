"""What became of a request: the event that a study stores, and that its search is told."""

from __future__ import annotations

import math

from pydantic import Field

from bife_core.measure.high import HighScore
from bife_core.measure.low import LowScore
from bife_core.search.types import Draft, Entry, Request, Sample, SampleRequest, SolveRequest, TrialRequest


class Answered(Entry):
    """What became of a request; what is not known, or was not asked for, is None.

    A rule has a `draft`, then F_LF in `low` too; a reflection has a `draft`; what was solved has its costs in `high`.
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
    def failure(self) -> str | None:
        """The sentence why what was asked for is not there, or None; a number that is not finite is not there."""
        score, low, high = (
            self.high or self.low or self.draft,
            self.low or LowScore(),
            self.high or HighScore(),
        )
        if score is not None and score.failure is not None:
            return score.failure
        numbers = {"F_LF": (low.f_lf,), "F_HF": (high.f_hf,), "A cost": high.costs}
        for label, values in numbers.items():
            for value in values:
                if value is not None and not math.isfinite(value):
                    return f"{label} is {value}, not a finite number"
        match self.request:
            case SampleRequest(scored=True) if low.f_lf is None:
                return "no F_LF was reported"
            case SolveRequest() if high.f_hf is None and high.eliminated is None:
                return "no F_HF was reported"
            case TrialRequest(instances=instances) if high.eliminated is None:
                count = len(high.costs) - high.costs.count(None)
                if count != len(instances):
                    return f"{count} costs were reported for {len(instances)} instances"
        return None

    @property
    def sample(self) -> Sample:
        """The rule that was asked for, or that was solved with, and what is known of it now."""
        request, failure = self.request, self.failure
        if isinstance(request, SolveRequest):
            high = self.high if self.high is not None and failure is None else HighScore()
            f_hf = high.f_hf if high.eliminated is None else None
            update = {"f_hf": f_hf, "eliminated": high.eliminated, "failure": failure}
            return request.sample.model_copy(update=update)
        if not isinstance(request, SampleRequest):
            raise TypeError(f"A {request.kind} gives no sample.")
        draft, low = self.draft or Draft(), self.low or LowScore()
        return Sample(
            id=request.id,
            generation=request.generation,
            operator=request.operator,
            parents=tuple(parent.id for parent in request.parents),
            sha=low.sha,
            source=low.source or draft.source,
            thought=draft.thought,
            behaviour=low.behaviour,
            f_lf=low.f_lf if low.f_lf is not None and math.isfinite(low.f_lf) else None,
            niche=(request.training or {}).get("niche"),
            failure=failure,
        )
