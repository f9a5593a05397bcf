"""An evolution in MLflow: one parent run, one child run per candidate, one trace per model call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

from mlflow.entities import Run

from bife_core.generators.base import Generation
from bife_core.rules import complexity
from bife_core.search import ReflectionRequest
from tasks import reports
from tasks.records import SampleRecord
from tasks.tracking import prompts, store, views
from tasks.tracking.spool import Spool
from tasks.tracking.traces import TracedCall, store_traces

_ENDED = ("FINISHED", "FAILED")
_STOPPED = "stopped"
ENDED_BY = "ended_by"
"""Tag of a run that a limit of its budget ended."""
_LONGEST_NOTE = 5000
_open: WeakSet[EvolutionTracker] = WeakSet()


class EvolutionTracker:
    """Writes an evolution to MLflow as it goes; telling it the same things again changes nothing.

    A store that fails does not stop the search: what it has not taken is kept on disk, see `Spool`, and is
    delivered when it answers again, or by a later run with the same key.

    Parameters
    ----------
    key : str
        Identity of the evolution: its parent run is found by it, across processes and days.
    name : str
        Name of the parent run.
    params, tags : mapping
        What defines the evolution, and what it is found by.

    Attributes
    ----------
    run_id : str
        The parent run; empty until MLflow has been reached.
    complete : bool
        Whether MLflow has all of a search that came to its end.
    """

    def __init__(self, key: str, name: str, params: Mapping[str, Any], tags: Mapping[str, str]) -> None:
        self.key = key
        self.run_id, self.complete = "", False
        self._name, self._params, self._tags = name, params, tags
        self._children: dict[str, Run] = {}
        self._ended: set[str] = set()
        self._told: set[str] = set()
        self._steps: set[int] = set()
        kinds: dict[str, Callable[..., None]] = {
            "opening": self._opening,
            "description": self._describe,
            "datasets": self._datasets,
            "samples": self._samples,
            "generation": self._generation,
            "outcome": self._outcome,
            "stop": self._stop,
        }
        self._spool = Spool(key, {kind: self._connected(deliver) for kind, deliver in kinds.items()})
        # Whatever else there is to tell, the run is to be found as soon as the search begins.
        self._spool.add("opening")
        _open.add(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person must know of records MLflow refused."""
        return tuple(self._spool.rejections)

    @property
    def waiting(self) -> int:
        """Records MLflow has not taken yet."""
        return len(self._spool)

    def datasets(self, described: Sequence[Mapping[str, Any]]) -> None:
        """Record the data the evolution reads; see `store.log_dataset`."""
        if not self.complete:
            self._spool.add("datasets", described=[dict(dataset) for dataset in described])

    def describe(self, *, prompts_used: bool) -> None:
        """Save the view that shows the candidates best first, and note which prompt templates are in use."""
        self._spool.add("description", prompts_used=prompts_used)

    def samples(self, records: Sequence[SampleRecord]) -> None:
        """Deliver what is not yet there of samples of which nothing more will become known."""
        known = self._ended | self._told
        new = [record for record in records if record.request.id not in known]
        if new:
            self._spool.add("samples", records=[record.model_dump(mode="json") for record in new])
            self._told.update(record.request.id for record in new if record.candidate is not None)

    def generation(
        self,
        step: int,
        metrics: Mapping[str, float | None],
        *,
        rows: Sequence[Mapping[str, Any]],
        files: Sequence[Path],
    ) -> None:
        """Deliver a generation once: the curves' points, the table of candidates so far, and files."""
        if step not in self._steps:
            self._spool.add(
                "generation",
                step=step,
                metrics=dict(metrics),
                rows=[dict(row) for row in rows],
                files=[str(path) for path in files],
                time_ms=_now_ms(),
            )

    def finish(
        self,
        files: Sequence[Path],
        metrics: Mapping[str, float | None],
        tags: Mapping[str, str],
        *,
        early: bool = False,
    ) -> None:
        """Deliver the outcome and end the run; one that ended `early` can be taken up again."""
        if not self.complete:
            self._spool.add(
                "outcome",
                files=[str(path) for path in files],
                metrics=dict(metrics),
                tags=dict(tags),
                time_ms=_now_ms(),
                early=early,
            )

    def stop(self, reason: str) -> None:
        """Mark the run as ended early, to be taken up again."""
        self._spool.add("stop", reason=reason)

    def interrupt(self, reason: str) -> None:
        """Mark the run as stopped by a person, to be taken up again; one that has ended is left as it is.

        Called while the process ends, so nothing is waited for and nothing is spooled: the next run with the same
        key opens the run again.
        """
        if self.run_id and not self.complete and not self.waiting:
            with suppress(*store.TRACKING_TROUBLE):
                store.log(self.run_id, tags={_STOPPED: reason})
                store.client().set_terminated(self.run_id, "KILLED")

    def _connected(self, deliver: Callable[..., None]) -> Callable[..., None]:
        def reached(**payload: Any) -> None:
            if not self.run_id:
                self._connect()
            deliver(**payload)

        return reached

    def _connect(self) -> None:
        """Find or make the parent run, and learn what an earlier process has already delivered."""
        fixed = {"kind": "evolution", "evolution_key": self.key, **self._tags}
        run_id, self.complete = store.open_run(store.EVOLUTION, self.key, self._name, fixed)
        for run in store.children(store.EVOLUTION, run_id):
            name = run.data.tags.get("candidate_id", "")
            self._children.setdefault(name, run)
            if run.info.status in _ENDED:
                self._ended.add(name)
        history = store.client().get_metric_history(run_id, "samples")
        self._steps = {metric.step for metric in history}
        if not self.complete:
            store.client().update_run(run_id, status="RUNNING")
            store.log(run_id, params=self._params)
            for mark in (_STOPPED, ENDED_BY):
                store.forget_tag(run_id, mark)
        self.run_id = run_id

    def _opening(self) -> None:
        """Deliver the existence of the run, which being connected has done."""

    def _describe(self, prompts_used: bool) -> None:
        views.save_view(self.run_id)
        if prompts_used and not self.complete:
            prompts.register_prompts(self.run_id)

    def _datasets(self, described: Sequence[Mapping[str, Any]]) -> None:
        for dataset in described:
            store.log_dataset(self.run_id, **dataset)

    def _samples(self, records: Sequence[Mapping[str, Any]]) -> None:
        known = [SampleRecord.model_validate(record) for record in records]
        new = [record for record in known if record.request.id not in self._ended]
        self._traces(new)
        for record in new:
            if record.candidate is not None:
                self._child(record)
            elif isinstance(record.request, ReflectionRequest):
                self._reflection(record)

    def _generation(
        self,
        step: int,
        metrics: Mapping[str, float | None],
        rows: Sequence[Mapping[str, Any]],
        files: Sequence[str],
        time_ms: int,
    ) -> None:
        if step in self._steps:
            return
        store.log_table(self.run_id, rows, reports.CANDIDATES)
        store.log_files(self.run_id, files)
        store.log(self.run_id, metrics=metrics, step=step, time_ms=time_ms)
        self._steps.add(step)

    def _outcome(
        self,
        files: Sequence[str],
        metrics: Mapping[str, float | None],
        tags: Mapping[str, str],
        time_ms: int,
        early: bool = False,
    ) -> None:
        if self.complete:
            return
        store.log_files(self.run_id, files)
        store.log(self.run_id, metrics=metrics, tags=tags, time_ms=time_ms)
        store.client().set_terminated(self.run_id, "KILLED" if early else "FINISHED")
        self.complete = not early

    def _stop(self, reason: str) -> None:
        store.log(self.run_id, tags={_STOPPED: reason})
        store.client().set_terminated(self.run_id, "FAILED")

    def _traces(self, records: Sequence[SampleRecord]) -> None:
        calls = [call for record in records for call in _calls(record)]
        store_traces(calls, run_id=self.run_id, experiment_id=store.experiment_id(store.EVOLUTION))

    def _child(self, record: SampleRecord) -> None:
        candidate, generation = record.candidate, record.generation
        assert candidate is not None
        run = self._children.get(candidate.id)
        if run is None:
            tags = {
                "kind": "candidate" if candidate.source else "call",
                "candidate_id": candidate.id,
                "evolution_key": self.key,
                "rule_sha": candidate.sha or "",
                "parents": " ".join(candidate.parents),
                "outcome": outcome(record),
                "mlflow.note.content": reports.abstract(candidate)[:_LONGEST_NOTE],
            }
            run = store.create_child(store.EVOLUTION, self.run_id, candidate.id, tags)
            self._children[candidate.id] = run
        run_id = run.info.run_id
        params = {
            "generation": candidate.generation,
            "operator": candidate.operator,
            "llm_model": generation.model if generation else "",
            "generator": generation.generator if generation else "",
        }
        store.log(run_id, params=params, metrics=_metrics(record), time_ms=run.info.start_time)
        texts = {
            "rule.py": candidate.source,
            "skeleton.py": candidate.skeleton,
            "error.txt": candidate.failure,
            "call.json": _call_text(generation),
        }
        store.log_texts(run, {name: text for name, text in texts.items() if text})
        store.client().set_terminated(run_id, "FINISHED" if candidate.failure is None else "FAILED")
        self._ended.add(candidate.id)

    def _reflection(self, record: SampleRecord) -> None:
        """Deliver a reflection: a child run of its own kind with the text."""
        request, generation = record.request, record.generation
        if generation is None:
            return
        run = self._children.get(request.id)
        if run is None:
            tags = {
                "kind": "reflection",
                "candidate_id": request.id,
                "evolution_key": self.key,
                "parents": " ".join(parent.id for parent in request.parents),
            }
            run = store.create_child(store.EVOLUTION, self.run_id, request.id, tags)
            self._children[request.id] = run
        params = {
            "generation": request.generation,
            "operator": request.operator,
            "llm_model": generation.model,
        }
        metrics = _call_metrics(generation) if generation.attempts else {}
        store.log(run.info.run_id, params=params, metrics=metrics, time_ms=run.info.start_time)
        texts = {
            "reflection.txt": generation.text or generation.failure or "",
            "call.json": _call_text(generation),
        }
        store.log_texts(run, {name: text for name, text in texts.items() if text is not None})
        store.client().set_terminated(run.info.run_id, "FAILED" if generation.failure else "FINISHED")
        self._ended.add(request.id)


def mark_interrupted(reason: str) -> None:
    """Mark all evolutions of this process that are under way as stopped by a person."""
    for tracker in list(_open):
        tracker.interrupt(reason)


def outcome(record: SampleRecord) -> str:
    """Return in one word what became of a sample, for filters."""
    candidate = record.candidate
    if candidate is None or not candidate.source:
        return "no_rule"
    if candidate.failure is None:
        return "solved" if candidate.f_hf is not None else "scored"
    known = {"duplicate": "duplicate", "screened": "screened_out"}
    return known.get(candidate.failure.partition(" ")[0], "failed")


def _calls(record: SampleRecord) -> list[TracedCall]:
    request, generation = record.request, record.generation
    if generation is None:
        return []
    return [
        TracedCall(
            name=f"{request.id}.{number}",
            inputs={
                "operator": request.operator,
                "generation": request.generation,
                "parents": [parent.id for parent in request.parents],
            },
            model=generation.model,
            messages=generation.messages,
            attempt=attempt,
        )
        for number, attempt in enumerate(generation.attempts, start=1)
    ]


def _call_text(generation: Generation | None) -> str | None:
    """Return what is kept of the calls behind a sample, or None where there was none."""
    if generation is None or not generation.attempts:
        return None
    return json.dumps(generation.model_dump(mode="json"), indent=2)


def _metrics(record: SampleRecord) -> dict[str, float | None]:
    candidate, generation = record.candidate, record.generation
    assert candidate is not None
    metrics: dict[str, float | None] = {"f_lf": candidate.f_lf, "f_hf": candidate.f_hf}
    if candidate.source and candidate.sha:
        metrics |= {name: float(value) for name, value in complexity(candidate.source).to_dict().items()}
    if record.low is not None and record.low.f_lf is not None:
        metrics |= {"f_lf_seconds": record.low.seconds}
    if record.high is not None:
        metrics["solve_cpu_s"] = record.high.cpu_s
    if generation is not None and generation.attempts:
        metrics |= _call_metrics(generation)
    return metrics


def _call_metrics(generation: Generation) -> dict[str, float | None]:
    costs = [attempt.cost_usd for attempt in generation.attempts if attempt.cost_usd is not None]
    return {
        "calls": len(generation.attempts),
        "prompt_tokens": sum(attempt.prompt_tokens for attempt in generation.attempts),
        "completion_tokens": sum(attempt.completion_tokens for attempt in generation.attempts),
        "call_seconds": sum(attempt.seconds for attempt in generation.attempts),
        "cost_usd": float(sum(costs)) if costs else None,
    }


def _now_ms() -> int:
    return int(time.time() * 1000)
