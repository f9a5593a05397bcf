"""Finding the answers to what a search asks: tasks write, score and solve, and everything is written down."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from prefect.futures import wait

from bife_core.collection import CollectionSummary
from bife_core.config import PipelineConfig
from bife_core.errors import ConfigError
from bife_core.fidelity.high import HighScore
from bife_core.fidelity.low import LowScore
from bife_core.fidelity.trial import TrialScore
from bife_core.generators import Generation
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
from flows.observer import observer
from tasks.evolution import calls_directory
from tasks.generation import GenerationStopped, propose
from tasks.records import InstanceSet, SampleRecord
from tasks.scoring import score_high, score_low, score_trial

_BY_THE_SEARCH = "search"
"""Generator of rules that a search brings along."""


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

    def _write(
        self, requests: Sequence[SampleRequest | ReflectionRequest]
    ) -> Iterator[tuple[SampleRequest | ReflectionRequest, Generation]]:
        """Have rules or reflections written, all at once, and yield each in order as soon as it is there."""
        config, calls = self.config, calls_directory(self.key)
        futures = {
            request.id: propose.submit(request, config.generator, config.instances.label, calls, self.key)
            for request in requests
            if isinstance(request, ReflectionRequest) or request.source is None
        }
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
                continue
            self.records[request.id] = SampleRecord(request=request, generation=generation)
            yield request, generation
        if stopped is not None:
            raise stopped

    def _reflect(self, requests: Sequence[ReflectionRequest]) -> list[Answer]:
        """Have reflections written."""
        if not requests:
            return []
        observer().activity(f"writing {len(requests)} reflections")
        answers: list[Answer] = []
        for request, generation in self._write(requests):
            self.ledger.reflected(generation.seconds)
            answers.append(ReflectionAnswer(id=request.id, text=generation.text, failure=generation.failure))
            observer().progress(len(answers), len(requests))
        return answers

    def _sample(self, requests: Sequence[SampleRequest]) -> list[Answer]:
        """Have rules written, all at once, and score each as soon as it is there."""
        if not requests:
            return []
        observer().activity(f"sampling {len(requests)} rules")
        scored = []
        try:
            for request, generation in self._write(requests):
                decisions = self.decisions if isinstance(request, SampleRequest) and request.scored else None
                scored.append(
                    score_low.submit(
                        request.id,
                        generation.model_dump(mode="json"),
                        decisions.path if decisions is not None else None,
                        decisions.digest if decisions is not None else None,
                        self.config.low,
                        self.config.workers,
                        self.config.runner,
                    )
                )
        except GenerationStopped:
            wait(scored)
            raise
        answers: list[Answer] = []
        for done, (request, future) in enumerate(zip(requests, scored, strict=True), start=1):
            answers.append(self._sampled(request, LowScore.model_validate(future.result())))
            observer().progress(done, len(requests))
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
        observer().activity(f"{len(requests)} trials on training instances")
        tried = [
            score_trial.submit(
                request, self.training, self.config.high, self.key, self.config.workers, self.config.runner
            )
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
                    "candidate": request.candidate or RPB,
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
                request.candidate.source or "",
                self.design,
                config.high,
                self.key,
                config.workers,
                config.runner,
            )
            for request in requests
        ]
        answers: list[Answer] = []
        for done, (request, future) in enumerate(zip(requests, solved, strict=True), start=1):
            score = HighScore.model_validate(future.result())
            self.records[request.id] = self.records[request.id].model_copy(update={"high": score})
            self.ledger.solved(request.id, score.cpu_s, score.f_hf)
            answers.append(SolveAnswer(id=request.id, f_hf=score.f_hf, failure=score.failure))
            observer().progress(done, len(requests))
        return answers


def _brought_along(request: SampleRequest | ReflectionRequest) -> Generation:
    """Return the rule a search begins with as if it had been written."""
    source = request.source if isinstance(request, SampleRequest) else None
    return Generation(
        key=request.id,
        generator=_BY_THE_SEARCH,
        model="",
        thought="The rule the search begins with.",
        source=source,
    )
