"""The work of a search: a rule is written, scored and evaluated in the solver."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from threading import Event
from typing import Final

from bife_core.base.errors import ConfigError, GeneratorError, SolverError
from bife_core.instances.base import Instance
from bife_core.language.components import COMPONENTS
from bife_core.measure.context import Reference, SolveContext
from bife_core.measure.decisions.nodes import has_nodes
from bife_core.measure.decisions.recorded import numbers_in
from bife_core.measure.high import HighScore, score_high
from bife_core.measure.low import LowScore, score_low
from bife_core.measure.solves import OutOfTimeError
from bife_core.run.config import PipelineConfig
from bife_core.run.study.archive import origin
from bife_core.run.study.prompt_context import ContextBuilder, Past
from bife_core.search import (
    ReflectionRequest,
    Request,
    SampleRequest,
    SolveRequest,
    TrialRequest,
    WrittenRequest,
)
from bife_core.search.answers import Answered
from bife_core.search.bife import GIVEN
from bife_core.search.generators import (
    Account,
    Draft,
    DraftingStoppedError,
    Generator,
    NoDraftError,
    PromptContext,
)
from bife_core.solver.methods.references import method_of

_NO_REFERENCE: Final = "The time was up before RPB had solved the design instances."
_TRAINING_LIMIT_S: Final = 7 * 86400.0
_ROOM_MB: Final = 3072.0
_ROOM_PER_NUMBER: Final = 96.0
"""Bytes of memory besides `_ROOM_MB` for each feature of each candidate: it is read, sorted into columns, and its
logarithm is kept in seven shapes."""


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """Does the work of one search, in threads too; solves raise `OutOfTimeError` once the time is up."""

    config: PipelineConfig
    context: ContextBuilder
    generator: Generator
    account: Account
    solving: SolveContext
    decisions: Path | None  # None where the search goes without F_LF
    folder: Path
    design: Sequence[Instance]  # what F_HF is measured on
    training: Sequence[Instance] = ()  # what trials solve
    beside: Mapping[str, float] = field(default_factory=dict)  # F_HF shown beside that of rules, by name
    stopped: Event = field(default_factory=Event)  # once it is set, no further piece is begun

    def work(self, request: Request, answer: Answered | None, past: Past) -> Iterator[Answered]:
        """Work out what the stored answer to a request lacks; what is yielded is stored before more is worked on."""
        match request:
            case SampleRequest() | ReflectionRequest():
                if answer is None:
                    yield (answer := self.write(request, past))
                if isinstance(request, SampleRequest) and answer.low is None:
                    low = self.score(request, answer.draft or Draft(), past)
                    yield answer.model_copy(update={"low": low})
            case TrialRequest() if answer is None:
                yield Answered(request=request, high=self.try_out(request))
            case SolveRequest() if answer is None:
                yield Answered(request=request, high=self.solve(request, past))

    def write(self, request: WrittenRequest, past: Past) -> Answered:
        """Have a rule or a reflection written, or fitted; see `write_draft` for what is returned and raised."""
        if isinstance(request, SampleRequest) and request.source is not None:
            draft = Draft(generator="search", source=request.source, thought=origin(request.source))
            return Answered(request=request, draft=draft)
        if isinstance(request, SampleRequest) and request.training is not None:
            self.account.check_time()
            return Answered(request=request, draft=self._trained(request, past))
        context = PromptContext(benchmark=self.context.benchmark)
        if getattr(self.generator, "needs_context", False):
            context = self.context.build(request, past, self.solving.pool)
        check = None
        if self.config.generator.prompts == "informed" and isinstance(request, SampleRequest):
            check = partial(self.score, request, past=past)
        return write_draft(request, context, self.generator, self.account, check)

    def _trained(self, request: SampleRequest, past: Past) -> Draft:
        name, decisions = self.config.search.algorithm, self.decisions
        samples = {"parents": request.parents, "others": past.samples}
        sources = {
            name: [sample.source for sample in some if sample.source] for name, some in samples.items()
        }
        training = {"seed": request.seed, **sources, **(request.training or {})}
        draft = self.solving.pool.submit(
            "bife_core.search.base:train_rule",
            {"search": name, "folder": str(self.folder), "decisions": decisions and str(decisions)}
            | {"training": training},
            limit_s=_TRAINING_LIMIT_S,
            memory_mb=None if has_nodes(decisions) else room_for(decisions),
            reads=[] if decisions is None else [decisions],
            writes=[self.folder],
        ).result()
        return Draft(generator=name, fit=False, **draft)  # its numbers are likeliest as they are

    def score(self, request: SampleRequest, draft: Draft, past: Past) -> LowScore:
        """Check a draft's rule and, where the request wants it, measure F_LF."""
        if draft.source is None:
            return LowScore(failure=draft.failure or "The generator gave no rule.")
        if measure := COMPONENTS.find(request.component).low:
            reference = past.reference or Reference(results=())
            instances = self.design if request.scored else ()
            if request.scored and past.reference is None:
                raise OutOfTimeError(_NO_REFERENCE)
            score: LowScore = resolve_name(measure)(
                draft.source, instances, reference, self.solving, self.config.low
            )
            return score
        low = self.config.low if draft.fit else self.config.low.model_copy(update={"tune": 0})
        by_person = self.generator.name == GIVEN
        decisions = self.decisions if request.scored or by_person else None
        # What a person gives, or a search gives or found by training, need not be a rule; what was written must be one.
        trained, component = request.training is not None, request.component
        method = by_person or request.source is not None or trained
        return score_low(draft.source, decisions, low, self.solving.pool, method=method, component=component)

    def try_out(self, request: TrialRequest) -> HighScore:
        """Solve training instances as a search asks, with seconds as the clock shows them."""
        if not self.training:
            raise ConfigError("The search makes trials but there are no training instances.")
        cost = request.cost or self.config.high.cost
        high = self.config.high.model_copy(update={"time_limit_s": request.time_limit_s, "cost": cost})
        instances = [self.training[position] for position in request.instances]
        rule = self.solving.usual if request.source is None else method_of(request.source, request.id)
        try:
            return score_high(rule, instances, replace(self.solving, config=high))
        except SolverError as error:
            return HighScore(failure=str(error))

    def solve(self, request: SolveRequest, past: Past) -> HighScore:
        """Solve the design instances with a rule, after RPB has."""
        if past.reference is None:
            raise OutOfTimeError(_NO_REFERENCE)
        rule = method_of(request.sample.source or "", request.id)
        race = {"to_beat": request.to_beat, "best": request.best}
        return score_high(rule, self.design, self.solving, reference=past.reference, **race)


def room_for(decisions: Path | None) -> float:
    """Return the megabytes of address space that a search may take that is trained on a file of decisions."""
    numbers = 0 if decisions is None else numbers_in(decisions)
    return _ROOM_MB + _ROOM_PER_NUMBER * numbers / 2**20


def write_draft(
    request: WrittenRequest,
    context: PromptContext,
    generator: Generator,
    account: Account,
    check: Callable[[Draft], LowScore] | None = None,
) -> Answered:
    """Have one rule or reflection written; an answer without a rule is a draft too.

    A generator that repairs is told once why `check` finds no valid rule in the draft; what `check` found of the draft
    that is returned comes with it. Raises `DraftingStoppedError` if no further request can succeed either,
    `BudgetReachedError` if the budget is used up, and another `NoDraftError` if no answer came.
    """
    account.check_time()
    began = time.perf_counter()
    try:
        draft, low = generator.generate(request, context), None
        seconds = time.perf_counter() - began
        repair = getattr(generator, "repair", None)
        if check is not None and repair is not None and draft.unanswered is None:
            low = check(draft)
            if low.failure is not None:
                began = time.perf_counter()
                second = repair(request, context, draft, low.failure)
                seconds += time.perf_counter() - began
                # A server that does not take the longer conversation leaves the first answer as it was.
                if second is not None and second.unanswered != "refused":
                    draft, low = second, None
    except NoDraftError:
        raise
    except GeneratorError as error:
        raise DraftingStoppedError(str(error)) from error
    # Calls have their own time, in an earlier run too; here they may have waited for each other.
    called_s = sum(call.seconds for call in account.calls(request.id))
    about = {"generator": generator.name, "seconds": called_s or draft.seconds or seconds}
    draft = draft.model_copy(update=about)
    if draft.unanswered is not None:
        raise NoDraftError(draft.failure or "The model API gave no answer.", draft)
    return Answered(request=request, draft=draft, low=low)
