"""Finding the answers to what a search asks: tasks write, score and solve, and everything is written down."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from prefect.futures import PrefectFuture, wait

from bife_core.collection import CollectionSummary
from bife_core.config import PipelineConfig
from bife_core.errors import ConfigError
from bife_core.fidelity.high import HighScore
from bife_core.fidelity.low import LowScore
from bife_core.fidelity.trial import TrialScore
from bife_core.generators import BudgetReachedError, Generation, Spending
from bife_core.generators.account import out_of_time
from bife_core.scip.solving import RPB
from bife_core.search import (
    Answer,
    CostLedger,
    ReflectionAnswer,
    ReflectionRequest,
    Request,
    SampleAnswer,
    SampleRequest,
    SolveAnswer,
    SolveRequest,
    TrialAnswer,
    TrialRequest,
)
from bife_core.solves import OutOfTimeError
from flows.operate.observer import observer
from tasks.evolution import account, calls_directory, clock
from tasks.generation import GenerationStopped, Unanswered, propose
from tasks.records import Allowance, InstanceSet, SampleRecord
from tasks.scoring import score_high, score_low, score_trial

_BY_THE_SEARCH = "search"
"""Generator of rules that a search brings along."""

SILENT_REQUESTS: Final = 4
"""Requests in a row that a model API leaves unanswered before a search that was answered earlier stops."""

Written = SampleRequest | ReflectionRequest
"""What a generator is asked for."""


class Answering:
    """Has tasks find the answers to requests, all requests of one `ask` at once.

    Parameters
    ----------
    key : str
        Identity of the evolution.
    decisions : CollectionSummary or None
        What F_LF is measured on.
    design, training : InstanceSet
        What F_HF is measured on, and what trials solve.

    Attributes
    ----------
    records : dict
        All that is known of each sample and reflection, by its id.
    trials : list of dict
        One row per trial, in the order they were asked for.
    ledger : CostLedger
        What was spent.
    ended_by : str or None
        Which limit of the budget is reached; from then on nothing is written any more.
    not_written : set of str
        Requests that went without an answer because of it.
    """

    def __init__(
        self,
        config: PipelineConfig,
        key: str,
        decisions: CollectionSummary | None,
        design: InstanceSet,
        training: InstanceSet | None,
    ) -> None:
        self.config = config
        self.key = key
        self.decisions = decisions
        self.design = design
        self.training = training
        self.records: dict[str, SampleRecord] = {}
        self.trials: list[dict[str, Any]] = []
        self.ledger = CostLedger(config.search.method, decisions.cpu_s if decisions is not None else 0.0)
        self.clock = clock(key)
        self.ended_by: str | None = None
        self.not_written: set[str] = set()
        self._account = account(key)
        self._allowance = Allowance(budget=config.budget, until_unix_s=self.clock.until_unix_s(config.budget))
        self._silence = 0

    def spending(self) -> Spending:
        """Return what the calls of this evolution have cost, those of earlier runs included."""
        return self._account.spending()

    def answers(self, requests: Sequence[Request]) -> tuple[Answer, ...]:
        """Return the answers in the order of the requests.

        Raises
        ------
        GenerationStopped
            If no further rule can be written; what was written until then is in `records`.
        """
        found: dict[tuple[str, str], Answer] = {}
        for answer in (
            *self._reflect([request for request in requests if isinstance(request, ReflectionRequest)]),
            *self._sample([request for request in requests if isinstance(request, SampleRequest)]),
            *self._try([request for request in requests if isinstance(request, TrialRequest)]),
            *self._solve([request for request in requests if isinstance(request, SolveRequest)]),
        ):
            found[answer.kind, answer.id] = answer
        return tuple(found[request.kind, request.id] for request in requests)

    def _write(self, requests: Sequence[Written]) -> Iterator[tuple[Written, Generation]]:
        """Have rules or reflections written, all at once, and yield each in order as soon as it is there.

        Those that the model API leaves unanswered come last, as failures, if others are answered.
        """
        if self.ended_by is not None:
            self.not_written.update(request.id for request in requests)
            return
        before = sum(isinstance(record.request, SampleRequest) for record in self.records.values())
        places = {request.id: before + place for place, request in enumerate(requests)}
        futures = {
            request.id: self._propose(request, places[request.id])
            for request in requests
            if isinstance(request, ReflectionRequest) or request.source is None
        }
        silent: dict[str, Generation] = {}
        stopped: GenerationStopped | None = None
        for request in requests:
            try:
                if request.id in futures:
                    generation = Generation.model_validate(futures[request.id].result())
                else:
                    generation = _brought_along(request)
            except GenerationStopped as stop:
                # The others are waited for all the same: what they cost must not be lost.
                self.records[request.id] = SampleRecord(request=request, generation=stop.generation)
                stopped = stop
            except BudgetReachedError as end:
                self.records[request.id] = SampleRecord(request=request, generation=end.generation)
                self.ended_by = self.ended_by or str(end)
                self.not_written.add(request.id)
            except Unanswered as missing:
                self.records[request.id] = SampleRecord(request=request, generation=missing.generation)
                silent[request.id] = missing.generation
            else:
                self.records[request.id] = SampleRecord(request=request, generation=generation)
                yield request, generation
            self.clock.tick()
        stopped = stopped or self._outage(silent, len(futures))
        if stopped is not None:
            raise stopped
        for request in requests:
            if request.id in silent and self.ended_by is not None:
                self.not_written.add(request.id)
            elif request.id in silent:
                settled = self._propose(request, places[request.id], silent[request.id]).result()
                yield request, Generation.model_validate(settled)

    def _propose(
        self, request: Written, place: int, given_up: Generation | None = None
    ) -> PrefectFuture[dict[str, Any]]:
        """Have one rule or reflection written; a rule has that place in the whole search."""
        limit, allowance = self.config.budget.samples, self._allowance
        if limit is not None and place >= limit and isinstance(request, SampleRequest):
            reason = f"budget.samples is used up: {limit:,} rules were sampled."
            allowance = allowance.model_copy(update={"refused": reason})
        return propose.submit(
            request,
            self.config.generator,
            self.config.instances.label,
            calls_directory(self.key),
            self.key,
            allowance,
            given_up.model_dump(mode="json") if given_up is not None else None,
        )

    def _outage(self, silent: dict[str, Generation], asked: int) -> GenerationStopped | None:
        """Return why the search must stop if the model API does not answer any more, or never did.

        A request that goes unanswered among others that are answered is a failed sample. When none is answered,
        going on would turn an hour without network into a search without rules.
        """
        if len(silent) < asked or not silent:
            self._silence = 0
            return None
        self._silence += asked
        known = [record.generation for record in self.records.values() if record.generation is not None]
        ever = any(generation.unanswered is None and generation.attempts for generation in known)
        down = all(generation.unanswered == "outage" for generation in silent.values())
        if ever and not (down and self._silence >= SILENT_REQUESTS):
            return None
        reason = next(iter(silent.values())).failure
        counted = "the only request" if asked == 1 else f"none of the last {self._silence} requests"
        what = "did not answer" if asked == 1 else "answered"
        return GenerationStopped(f"The model API {what} {counted}. {reason} Run again to go on.", None)

    def _reflect(self, requests: Sequence[ReflectionRequest]) -> list[Answer]:
        """Have reflections written."""
        if not requests:
            return []
        observer().activity(f"writing {len(requests)} reflections")
        answers: dict[str, Answer] = {}
        for request, generation in self._write(requests):
            self.ledger.reflected(generation.seconds)
            answers[request.id] = ReflectionAnswer(
                id=request.id, text=generation.text, failure=generation.failure
            )
            observer().progress(len(answers), len(requests))
        return [
            answers.get(request.id) or ReflectionAnswer(id=request.id, failure=self._why_not_written())
            for request in requests
        ]

    def _why_not_written(self) -> str:
        return f"Not written: {self.ended_by}"

    def _sample(self, requests: Sequence[SampleRequest]) -> list[Answer]:
        """Have rules written, all at once, and score each as soon as it is there."""
        if not requests:
            return []
        observer().activity(f"sampling {len(requests)} rules")
        scored: dict[str, PrefectFuture[dict[str, Any]]] = {}
        try:
            for request, generation in self._write(requests):
                decisions = self.decisions if isinstance(request, SampleRequest) and request.scored else None
                scored[request.id] = score_low.submit(
                    request.id,
                    generation.model_dump(mode="json"),
                    decisions.path if decisions is not None else None,
                    decisions.digest if decisions is not None else None,
                    self.config.low,
                    self.config.runner,
                )
        except GenerationStopped:
            wait(list(scored.values()))
            raise
        answers: list[Answer] = []
        for request in requests:
            if request.id not in scored:
                answers.append(SampleAnswer(id=request.id, failure=self._why_not_written()))
                continue
            answers.append(self._sampled(request, LowScore.model_validate(scored[request.id].result())))
            observer().progress(len(answers), len(requests))
            self.clock.tick()
        return answers

    def _sampled(self, request: SampleRequest, score: LowScore) -> SampleAnswer:
        record = self.records[request.id]
        self.records[request.id] = record.model_copy(update={"low": score})
        written = record.generation
        assert written is not None
        if request.source is None:
            self.ledger.sampled(written.seconds)
        self.ledger.scored(score.seconds)
        return SampleAnswer(
            id=request.id,
            sha=score.sha,
            source=written.source,
            skeleton=written.skeleton,
            thought=written.thought,
            f_lf=score.f_lf,
            failure=score.failure,
        )

    def _try(self, requests: Sequence[TrialRequest]) -> list[Answer]:
        """Solve training instances."""
        if not requests:
            return []
        if self.training is None:
            raise ConfigError("The search makes trials but names no number of training instances.")
        until_unix_s = self._allowance.until_unix_s
        if until_unix_s is not None and time.time() >= until_unix_s:
            self.ended_by = self.ended_by or out_of_time(self.config.budget)
            return [TrialAnswer(id=request.id, failure=self.ended_by) for request in requests]
        observer().activity(f"{len(requests)} trials on training instances")
        tried = [
            score_trial.submit(request, self.training, self.config.high, self.key, self.config.runner)
            for request in requests
        ]
        answers: list[Answer] = []
        for request, future in zip(requests, tried, strict=True):
            score = TrialScore.model_validate(future.result())
            self.ledger.tried(score.cpu_s)
            answers.append(TrialAnswer(id=request.id, costs=score.costs, failure=score.failure))
            self.trials.append(
                {
                    "id": request.id,
                    "sample": request.sample or RPB,
                    "costs": " ".join(f"{cost:.6g}" for cost in score.costs or ()),
                    "cpu_s": score.cpu_s,
                    "failure": score.failure,
                    "parameters": json.dumps(request.parameters),
                }
            )
            observer().progress(len(answers), len(requests))
        return answers

    def _solve(self, requests: Sequence[SolveRequest]) -> list[Answer]:
        """Solve the design instances with the rules that earned it."""
        if not requests:
            return []
        observer().activity(f"solving {len(self.design.instances)} instances with {len(requests)} rules")
        config = self.config
        solved = [
            score_high.submit(
                request.id,
                request.sample.source or "",
                self.design,
                config.high,
                self.key,
                config.runner,
                self._allowance.until_unix_s,
            )
            for request in requests
        ]
        answers: list[Answer] = []
        for done, (request, future) in enumerate(zip(requests, solved, strict=True), start=1):
            self.clock.tick()
            try:
                score = HighScore.model_validate(future.result())
            except OutOfTimeError as end:
                self.ended_by = self.ended_by or out_of_time(config.budget)
                answers.append(SolveAnswer(id=request.id, failure=str(end)))
                continue
            self.records[request.id] = self.records[request.id].model_copy(update={"high": score})
            self.ledger.solved(request.id, score.cpu_s, score.f_hf)
            answers.append(SolveAnswer(id=request.id, f_hf=score.f_hf, failure=score.failure))
            observer().progress(done, len(requests))
        return answers


def _brought_along(request: Written) -> Generation:
    """Return the rule a search begins with as if it had been written."""
    source = request.source if isinstance(request, SampleRequest) else None
    return Generation(
        key=request.id,
        generator=_BY_THE_SEARCH,
        model="",
        thought="The rule the search begins with.",
        source=source,
    )
