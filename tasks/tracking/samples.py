"""The child runs of an evolution: one for each sample that is settled, and for each reflection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from mlflow.entities import Run

from bife_core.fidelity.high import HighScore
from bife_core.fidelity.low import LowScore
from bife_core.generators import Draft
from bife_core.rules import complexity
from bife_core.search import ReflectionRequest, Sample, SampleRequest
from bife_core.study import files as reports
from tasks.tracking import store

UNSETTLED = "unsettled"
"""Outcome of a sample whose search stopped before all was known of it."""

_ENDED = ("FINISHED", "FAILED")
_LONGEST_NOTE = 5000


@dataclass
class Known:
    """What a journal has said of a sample so far.

    Attributes
    ----------
    began_ms, low_ms, done_ms : int
        Unix times at which its writing began, at which it was written or had its F_LF, and at which its last score was
        known; 0 while they are not known.
    """

    request: SampleRequest | None = None
    draft: Draft | None = None
    began_ms: int = 0
    low_ms: int = 0
    done_ms: int = 0
    low: LowScore | None = None
    high: HighScore | None = None


class SampleRuns:
    """The children of one evolution's run; telling them the same again changes nothing.

    Parameters
    ----------
    key : str
        Identity of the evolution.
    parent : str
        Its run.
    """

    def __init__(self, key: str, parent: str) -> None:
        self._key, self._parent = key, parent
        self._runs: dict[str, Run] = {}
        self._ended: set[str] = set()
        for run in store.children(store.EVOLUTION, parent):
            name = run.data.tags.get("sample_id", "")
            self._runs.setdefault(name, run)
            if run.info.status in _ENDED:
                self._ended.add(name)

    def sample(self, sample: Sample, known: Known, time_ms: int, provenance: Mapping[str, str]) -> bool:
        """Write a sample of which nothing more will become known, and say whether there was anything to do.

        Parameters
        ----------
        time_ms : int
            Unix time it was settled.
        provenance : mapping
            Tags of the process that settled it.
        """
        if sample.id in self._ended:
            return False
        tags = {
            **provenance,
            "kind": "sample" if sample.source else "call",
            "rule_sha": sample.sha or "",
            "parents": " ".join(sample.parents),
            "outcome": outcome(sample),
            "mlflow.note.content": reports.abstract(sample)[:_LONGEST_NOTE],
        }
        run = self._run(sample.id, tags, known.began_ms or time_ms)
        params = {
            "generation": sample.generation,
            "operator": sample.operator,
            "llm_model": known.draft.model if known.draft else "",
            "generator": known.draft.generator if known.draft else "",
            **({} if sample.line is None else {"line": sample.line}),
        }
        # The tags once more: the run may be that of a sample which a stop had left unsettled.
        early = _early_metrics(known) | _size(sample) | {"f_lf": sample.f_lf}
        store.log(run.info.run_id, params=params, metrics=early, tags=tags, time_ms=known.low_ms or time_ms)
        if known.high is not None or sample.f_hf is not None:
            store.log(run.info.run_id, metrics=_late_metrics(sample, known.high), time_ms=time_ms)
        texts = {
            "rule.py": sample.source,
            "skeleton.py": sample.skeleton,
            "error.txt": sample.failure,
            "call.json": _call_text(known.draft),
        }
        store.log_texts(run.info.run_id, {name: text for name, text in texts.items() if text})
        # It is settled when its generation is, and was done before.
        self._end(sample.id, run, sample.failure is not None, known.done_ms or time_ms)
        return True

    def unsettled(self, name: str, known: Known, time_ms: int, provenance: Mapping[str, str]) -> None:
        """Write what is known of a sample whose search stopped before it was settled; the next start settles it."""
        asked, draft = known.request, known.draft
        if asked is None or draft is None or name in self._ended:
            return
        tags = {
            **provenance,
            "kind": "sample" if draft.source else "call",
            "parents": " ".join(parent.id for parent in asked.parents),
            "outcome": UNSETTLED,
        }
        run = self._run(name, tags, known.began_ms or time_ms)
        # At the time it became known, as when it is settled: then it is the same point of a curve, and no second one.
        store.log(run.info.run_id, metrics=_early_metrics(known), time_ms=known.low_ms or time_ms)
        store.log_texts(run.info.run_id, {"rule.py": draft.source} if draft.source else {})
        store.end_run(run.info.run_id, "KILLED", time_ms)

    def reflection(
        self, request: ReflectionRequest, draft: Draft, time_ms: int, provenance: Mapping[str, str]
    ) -> None:
        """Write a reflection: a child run of its own kind with the text."""
        if request.id in self._ended:
            return
        parents = " ".join(parent.id for parent in request.parents)
        tags = {**provenance, "kind": "reflection", "parents": parents}
        run = self._run(request.id, tags, began_ms(draft, time_ms))
        params = {
            "generation": request.generation,
            "operator": request.operator,
            "llm_model": draft.model,
        }
        metrics = _call_metrics(draft) if draft.attempts else {}
        store.log(run.info.run_id, params=params, metrics=metrics, time_ms=time_ms)
        texts = {"reflection.txt": draft.text or draft.failure or "", "call.json": _call_text(draft)}
        store.log_texts(run.info.run_id, {name: text for name, text in texts.items() if text is not None})
        self._end(request.id, run, draft.failure is not None, time_ms)

    def _run(self, name: str, tags: dict[str, str], start_ms: int) -> Run:
        if name not in self._runs:
            tags = {"sample_id": name, "evolution_key": self._key, **tags}
            self._runs[name] = store.create_child(
                store.EVOLUTION, self._parent, name, tags, start_ms=start_ms
            )
        return self._runs[name]

    def _end(self, name: str, run: Run, failed: bool, time_ms: int) -> None:
        store.end_run(run.info.run_id, "FAILED" if failed else "FINISHED", time_ms)
        self._ended.add(name)
        # Nothing more is written to it; only its name is kept.
        del self._runs[name]


def began_ms(draft: Draft, time_ms: int) -> int:
    """Return the Unix time at which the writing of a draft began that was there at `time_ms`."""
    return time_ms - int(1000 * draft.seconds)


def outcome(sample: Sample) -> str:
    """Return in one word what became of a sample, for filters."""
    if not sample.source:
        return "no_rule"
    if sample.eliminated is not None:
        return "eliminated"
    if sample.failure is None:
        return "solved" if sample.f_hf is not None else "scored"
    known = {"duplicate": "duplicate", "screened": "screened_out"}
    return known.get(sample.failure.partition(" ")[0], "failed")


def _call_text(draft: Draft | None) -> str | None:
    """Return what is kept of the calls behind a sample, or None where there was none."""
    if draft is None or not draft.attempts:
        return None
    return json.dumps(draft.model_dump(mode="json"), indent=2)


def _size(sample: Sample) -> dict[str, float | None]:
    if not sample.source or not sample.sha:
        return {}
    return {name: float(value) for name, value in complexity(sample.source).to_dict().items()}


def _late_metrics(sample: Sample, high: HighScore | None) -> dict[str, float | None]:
    """Return what solving told of a sample."""
    if high is None:
        return {"f_hf": sample.f_hf}
    return {
        "f_hf": sample.f_hf,
        "solve_cpu_s": high.cpu_s,
        "raw_f_hf": high.raw_f_hf,
        "load_factor": high.load_factor,
        "instances_solved": float(len(high.results)),
    }


def _early_metrics(known: Known) -> dict[str, float | None]:
    """Return what is known of a sample before it is solved with."""
    metrics = _call_metrics(known.draft) if known.draft is not None and known.draft.attempts else {}
    if known.low is not None and known.low.f_lf is not None:
        metrics |= {"f_lf": known.low.f_lf, "f_lf_seconds": known.low.seconds}
    return metrics


def _call_metrics(draft: Draft) -> dict[str, float | None]:
    costs = [attempt.cost_usd for attempt in draft.attempts if attempt.cost_usd is not None]
    return {
        "calls": len(draft.attempts),
        "prompt_tokens": sum(attempt.prompt_tokens for attempt in draft.attempts),
        "completion_tokens": sum(attempt.completion_tokens for attempt in draft.attempts),
        "call_seconds": sum(attempt.seconds for attempt in draft.attempts),
        "cost_usd": float(sum(costs)) if costs else None,
    }
