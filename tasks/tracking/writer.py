"""What the events of one study become in MLflow; writing an event again changes nothing.

An evolution is one parent run with one child run per sample or reflection and one trace per model call. A collection
or an evaluation is one run, made of one event that holds all of it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, ParamSpec

from mlflow.entities import Metric
from mlflow.exceptions import MlflowException
from pydantic import Field

from bife_core.fidelity.high import HighScore
from bife_core.generators import Draft
from bife_core.methods.base import RPB
from bife_core.rules import complexity
from bife_core.scip.solving import SolveResult
from bife_core.search import ReflectionRequest, Sample
from bife_core.study import files as reports
from bife_core.study import journal
from bife_core.study.journal import AnyEntry, Completed, Drafted, Ended, Opened, Started, Stopped
from bife_core.values import Value
from bife_core.wording import counted
from tasks.home import project_home
from tasks.stores import home_store
from tasks.tracking import store, views
from tasks.tracking.traces import TracedCall, calls_of, store_traces, stored_traces

P = ParamSpec("P")

UNSETTLED: Final = "unsettled"
"""Outcome of a sample whose search stopped before all was known of it."""

DESIGN_SOLVES: Final = "design_solves.json"
"""Artifact: the solves that F_HF is computed from, one row per rule and design instance, RPB's first."""

_ENDED: Final = ("FINISHED", "FAILED")
_LONGEST_NOTE: Final = 5000
_MOST_NAMED: Final = 100
_OF_THE_END: Final = (
    reports.LINEAGE,
    reports.BEST_RULE,
    reports.BEST_DIFF,
    "progress.png",
    "fidelities.png",
    "lineage.png",
    reports.COST,
    reports.CURVE,
    reports.TRIALS,
)
"""Files of the study's folder that are artifacts; `reports.SAMPLES` is one as a table."""


@dataclass
class _Child:
    """What new events say of a sample or reflection."""

    start_ms: int = 0
    params: dict[str, Any] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    metrics: list[Metric] = field(default_factory=list)
    texts: dict[str, str | None] = field(default_factory=dict)
    status: str = ""
    end_ms: int = 0


class EvolutionWriter:
    """Writes the events of an evolution, which begin with `opened`, to its run in MLflow, which is found or made.

    `samples` and `traces` count what it wrote, and `notes` are sentences on what MLflow refused.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened, self._folder = opened, project_home().runs / opened.key
        tags = {"kind": "evolution", "evolution_key": opened.key, **opened.tags}
        run = store.open_run(store.EVOLUTION, opened.key, opened.name, tags, start_ms=_ms(opened))
        self.run_id = str(run.info.run_id)
        self.samples = self.traces = 0
        self.notes: list[str] = []
        self._points = store.points_of(run)
        self._runs: dict[str, str] = {}
        self._measured: dict[str, set[tuple[str, int]]] = {}
        self._ended: set[str] = set()
        for child in store.children(store.EVOLUTION, self.run_id):
            name = child.data.tags.get("sample_id", "")
            if child.info.status in _ENDED:
                self._ended.add(name)
            else:
                self._runs[name] = str(child.info.run_id)
                self._measured[name] = {(metric, 0) for metric in child.data.metrics}
        self._traced = stored_traces(self.run_id, store.experiment_id(store.EVOLUTION))
        self._untraced: set[str] = set()
        self._prompted: set[str] = set()
        self._provenance: dict[str, str] = {}
        self._done_ms: dict[str, int] = {}
        self._children: defaultdict[str, _Child] = defaultdict(_Child)

    def write(self, events: Sequence[tuple[AnyEntry, int]], after: int) -> None:
        """Write events in order; those up to number `after` are only read, as MLflow has them.

        Raises
        ------
        MlflowException, SQLAlchemyError, OSError
            If MLflow does not answer. What it refuses is noted and left out.
        """
        new = [entry for entry, seq in events if seq > after]
        self._trace([call for entry in new for call in calls_of(entry)])
        last = next((entry for entry in reversed(new) if isinstance(entry, Completed | Ended)), None)
        for entry, seq in events:
            if seq > after:
                self._fold(entry)
                if isinstance(entry, Opened | Started | Completed | Ended | Stopped):
                    self._write_children()
                    self._attempt(f"the event {entry.kind!r}", self._apply, entry, seq, entry is last)
            match entry:
                case Started():
                    self._provenance = entry.provenance
                case Drafted():
                    self._done_ms[entry.request.id] = _ms(entry)
                case journal.Scored() | journal.HighScored():
                    self._done_ms[entry.id] = _ms(entry)
        self._write_children()

    def _attempt(self, what: str, write: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Write, or note that MLflow refuses it: what follows must not wait for that."""
        try:
            write(*args, **kwargs)
        except (MlflowException, store.TrackingError) as error:
            if not store.refuses(error):
                raise
            if store.client().get_run(self.run_id).info.lifecycle_stage != "active":
                raise store.TrackingError(f"the run of {self._opened.key} was deleted") from None
            self.notes.append(
                f"MLflow refused {what} of the study {self._opened.key} ({store.first_line(error)}); "
                f"{home_store().name} has it."
            )

    def _fold(self, entry: AnyEntry) -> None:
        """Add what an event says of a sample or reflection to what is written next."""
        match entry:
            case Drafted():
                self._drafted(entry, self._children[entry.request.id])
            case journal.Scored() if entry.score.f_lf is not None:
                values = {"f_lf": entry.score.f_lf, "f_lf_seconds": entry.score.seconds}
                self._children[entry.id].metrics += store.points(values, _ms(entry))
            case journal.HighScored():
                self._children[entry.id].metrics += store.points(_high_metrics(entry.score), _ms(entry))
            case journal.Settled():
                self._settled(entry.sample, _ms(entry), self._children[entry.sample.id])

    def _drafted(self, entry: Drafted, child: _Child) -> None:
        request, draft = entry.request, entry.draft
        child.start_ms = _ms(entry) - int(1000 * draft.seconds)
        child.params |= {
            "generation": request.generation,
            "operator": request.operator,
            "llm_model": draft.model,
        }
        child.tags |= {"parents": " ".join(parent.id for parent in request.parents)}
        child.texts |= {"rule.py": draft.source}
        if draft.attempts:
            child.metrics += store.points(_call_metrics(draft), _ms(entry))
            child.texts |= {"call.json": json.dumps(draft.model_dump(mode="json"), indent=2)}
        if isinstance(request, ReflectionRequest):
            child.tags |= {"kind": "reflection"}
            child.texts |= {"reflection.txt": draft.text or draft.failure}
            child.status, child.end_ms = _ENDED[draft.failure is not None], _ms(entry)
        else:
            child.tags |= {"kind": "sample" if draft.source else "call"}
            child.params |= {"generator": draft.generator}

    def _settled(self, sample: Sample, time_ms: int, child: _Child) -> None:
        child.params |= {"generation": sample.generation, "operator": sample.operator}
        child.params |= {} if sample.niche is None else {"niche": sample.niche}
        child.tags |= {
            "kind": "sample" if sample.source else "call",
            "rule_sha": sample.sha or "",
            "parents": " ".join(sample.parents),
            "outcome": outcome(sample),
            "mlflow.note.content": reports.abstract(sample)[:_LONGEST_NOTE],
        }
        values = {"f_lf": sample.f_lf, "f_hf": sample.f_hf, **_size(sample)}
        child.metrics += store.points(values, time_ms)  # the scores, if no event of their own reported them
        child.texts |= {"rule.py": sample.source, "error.txt": sample.failure}
        child.status = _ENDED[sample.failure is not None]
        # It is settled when its generation is, and was done before.
        child.end_ms = self._done_ms.get(sample.id, time_ms)

    def _write_children(self) -> None:
        for name, child in self._children.items():
            if name not in self._ended:
                self._attempt(f"the sample {name}", self._write_child, name, child)
        self._children.clear()

    def _write_child(self, name: str, child: _Child) -> None:
        run_id, tags = self._runs.get(name), {**self._provenance, **child.tags}
        if run_id is None:
            own = {"sample_id": name, "evolution_key": self._opened.key}
            start_ms = child.start_ms or child.end_ms or None
            run = store.create_child(store.EVOLUTION, self.run_id, name, own | tags, start_ms=start_ms)
            run_id = self._runs[name] = str(run.info.run_id)
        had = self._measured.setdefault(name, set())
        store.log(run_id, metrics=child.metrics, params=child.params, tags=tags, known=had)
        store.log_texts(run_id, child.texts)
        if child.status:
            store.client().set_terminated(run_id, child.status, child.end_ms)
            self.samples += child.tags["kind"] != "reflection"
            self._ended.add(name)
            # Nothing more is written to it; only its name is kept.
            del self._runs[name], self._measured[name]

    def _apply(self, entry: AnyEntry, seq: int, with_files: bool) -> None:
        """Write an event of the evolution itself."""
        run, time_ms = self.run_id, _ms(entry)
        match entry:
            case Opened():
                store.log(run, params=entry.params)
                store.log_datasets(run, entry.datasets)
                views.save_lists()
                views.save_view(run, entry.name, time_ms)
            case Started():
                store.client().update_run(run, status="RUNNING")
                former = self._provenance.keys() - entry.provenance.keys()
                store.forget_tags(run, "stopped", "ended_by", *former)
                store.log(run, tags=entry.provenance)
            case Completed():
                if with_files:
                    self._files((reports.LINEAGE,))
                points = store.points(_curves(entry), time_ms, entry.summary.generation)
                store.log(run, metrics=points, known=self._points)
            case Ended():
                if with_files:
                    self._files(_OF_THE_END)
                self._leave_unsettled(time_ms)
                self._end(entry, seq)
            case Stopped():
                self._leave_unsettled(time_ms)
                store.log(run, tags={"stopped": entry.reason})
                store.client().set_terminated(run, "KILLED" if entry.by_person else "FAILED", time_ms)

    def _end(self, entry: Ended, seq: int) -> None:
        best = entry.best
        values: dict[str, float | None] = {**entry.cost.metrics()}
        tags = {"best_sample": "none"}
        about = "No sampled rule was of use; the reasons are in samples.json."
        if best is not None:
            values |= {"final_f_lf": best.f_lf, "final_f_hf": best.f_hf}
            tags = {"best_sample": best.id, "best_sha": best.sha or "", "lineage": lineage(best)}
            about = f"{reports.abstract(best)}\n\nAll samples, best first: samples.json"
        if entry.ended_by is not None:
            about = f"{entry.ended_by}\n\n{about}"
        tags |= {"ended_by": entry.ended_by or "search.samples", "mlflow.note.content": about}
        # A search that is extended ends again: each end is a step of its own.
        store.log(self.run_id, metrics=store.points(values, _ms(entry), seq), tags=tags, known=self._points)
        store.client().set_terminated(self.run_id, "FINISHED", _ms(entry))

    def _leave_unsettled(self, time_ms: int) -> None:
        """Mark the samples that the search left open, and write the solves so far; a later start settles them."""
        for run_id in self._runs.values():
            store.log(run_id, tags={"outcome": UNSETTLED})
            store.client().set_terminated(run_id, "KILLED", time_ms)
        solves: dict[str, list[dict[str, Any]]] = {}
        for entry, _ in journal.read_journal(home_store(), self._opened.key):
            if isinstance(entry, journal.Referred):
                solves[RPB] = [_row(RPB, result, None) for result in entry.reference.results if result]
            elif isinstance(entry, journal.HighScored):
                results = entry.score.results
                costs: list[float | None] = [cost for cost in entry.score.costs if cost is not None]
                if len(results) != len(costs):  # racing cut the rule short
                    costs = [None] * len(results)
                solves[entry.id] = [_row(entry.id, *each) for each in zip(results, costs, strict=True)]
        if solves:
            store.log_table(self.run_id, [row for rows in solves.values() for row in rows], DESIGN_SOLVES)

    def _files(self, names: Sequence[str]) -> None:
        """Store files of the folder that are there, and the table of samples, as they are now."""
        with suppress(FileNotFoundError, ValueError):  # a killed process may have left half of it
            rows = json.loads((self._folder / reports.SAMPLES).read_text(encoding="utf-8"))
            store.log_table(self.run_id, rows, reports.SAMPLES)
        store.log_files(self.run_id, [self._folder / name for name in names])

    def _trace(self, calls: Sequence[TracedCall]) -> None:
        """Store the calls that have no trace, link the prompts they were made with, and name those that are refused."""
        # A later answer to the same request reports its calls again.
        missing = {call.name: call for call in reversed(calls) if call.name not in self._traced}
        if missing:
            number = store.experiment_id(store.EVOLUTION)
            try:
                refused = store_traces([missing[name] for name in sorted(missing)], self.run_id, number)
            except MlflowException as error:
                if not store.refuses(error):
                    raise
                refused = set(missing)
            if refused:
                self._untraced |= refused
                names = sorted(self._untraced)[:_MOST_NAMED]
                # An MLflow that takes this tag is not away: it will not take the traces later either.
                store.log(self.run_id, tags={"untraced": " ".join(names)})
                calls_refused = f"{counted(len(refused), 'call')} ({', '.join(names)})"
                self.notes.append(
                    f"MLflow refused the traces of {calls_refused}; {home_store().name} has them."
                )
            self.traces += len(missing) - len(refused)
            self._traced |= missing.keys()
        asked = {str(call.request.operator) for call in calls} - self._prompted
        if asked and self._opened.prompts:
            used = self._opened.params.get("generator.prompt_version")
            self._attempt("the prompt templates", views.link_prompts, self.run_id, asked, used)
            self._prompted |= asked


class Record(Value):
    """All that MLflow gets of a collection or an evaluation; equal inputs have an equal key, and one run.

    Attributes
    ----------
    datasets : tuple of dict
        Name, digest, source, profile and context of all data it read or wrote.
    tables, files : dict, tuple of str
        Rows by the artifact's file name, and names of artifacts in its folder.
    at_unix_s, provenance : float, dict
        When it was finished, and tags of the process that did.
    """

    experiment: str
    key: str
    name: str
    params: dict[str, Any]
    metrics: dict[str, float | None]
    tags: dict[str, str]
    datasets: tuple[dict[str, Any], ...] = ()
    tables: dict[str, tuple[dict[str, Any], ...]] = Field(default_factory=dict)
    files: tuple[str, ...] = ()
    at_unix_s: float = 0.0
    provenance: dict[str, str] = Field(default_factory=dict)


def write_record(folder: Path, record: Record) -> str:
    """Write a record, whose files lie in a folder, to MLflow; return the id of its run."""
    time_ms, tags = int(record.at_unix_s * 1000), {**record.provenance, **record.tags}
    run = store.open_run(record.experiment, record.key, record.name, tags, start_ms=time_ms)
    run_id = str(run.info.run_id)
    if run.info.status != "FINISHED":
        store.log(run_id, params=record.params, tags=tags)
        views.save_lists()
        store.log(run_id, metrics=store.points(record.metrics, time_ms), known=store.points_of(run))
        store.log_datasets(run_id, record.datasets)
        for artifact, rows in record.tables.items():
            store.log_table(run_id, rows, artifact)
        store.log_files(run_id, [folder / name for name in record.files])
        store.client().set_terminated(run_id, "FINISHED", time_ms)
    return run_id


def lineage(sample: Sample) -> str:
    """Return in one line by which operator and from which samples a rule was made.

    Examples
    --------
    >>> lineage(Sample(id="g01-c02", generation=1, operator="m1", parents=("g00-c00",)))
    'g01-c02 by m1 from g00-c00'
    """
    origin = f" from {', '.join(sample.parents)}" if sample.parents else ""
    return f"{sample.id} by {sample.operator}{origin}"


def outcome(sample: Sample) -> str:
    """Return in one word what became of a sample, for filters."""
    if not sample.source:
        return "no_rule"
    if sample.eliminated is not None:
        return "eliminated"
    if sample.failure is None:
        return "solved" if sample.f_hf is not None else "scored"
    reasons = {"duplicate": "duplicate", "screened": "screened_out"}
    return reasons.get(sample.failure.partition(" ")[0], "failed")


def _curves(entry: Completed) -> dict[str, float | None]:
    """Return the points that a generation adds to the curves of its run."""
    summary, spent = entry.summary, entry.spending
    return {
        "samples": float(summary.samples_total),
        "failures": float(summary.failures_total),
        "failure_rate": summary.failures_total / max(summary.samples_total, 1),
        "best_f_lf": summary.best_f_lf,
        "mean_f_lf": summary.mean_f_lf,
        "best_f_hf": summary.best_f_hf,
        "mean_f_hf": entry.mean_f_hf,
        "population": float(summary.n_alive),
        "elites": float(summary.n_elites),
        "tau": summary.tau,
        "solved": float(entry.solved),
        "solve_cpu_s": entry.solve_cpu_s,
        "calls": float(spent.calls),
        "prompt_tokens": float(spent.prompt_tokens),
        "completion_tokens": float(spent.completion_tokens),
        "cost_usd": float(spent.cost_usd) if spent.cost_usd is not None else None,
    }


def _call_metrics(draft: Draft) -> dict[str, float | None]:
    costs = [attempt.cost_usd for attempt in draft.attempts if attempt.cost_usd is not None]
    return {
        "calls": len(draft.attempts),
        "prompt_tokens": sum(attempt.prompt_tokens for attempt in draft.attempts),
        "completion_tokens": sum(attempt.completion_tokens for attempt in draft.attempts),
        "call_seconds": sum(attempt.seconds for attempt in draft.attempts),
        "cost_usd": float(sum(costs)) if costs else None,
    }


def _high_metrics(score: HighScore) -> dict[str, float | None]:
    return {
        "f_hf": score.f_hf,
        "solve_cpu_s": score.cpu_s,
        "raw_f_hf": score.raw_f_hf,
        "load_factor": score.load_factor,
        "instances_solved": float(len(score.results)),
    }


def _size(sample: Sample) -> dict[str, float | None]:
    if not sample.source or not sample.sha:
        return {}
    return {name: float(value) for name, value in complexity(sample.source).to_dict().items()}


def _row(name: str, result: SolveResult, cost: float | None) -> dict[str, Any]:
    return {
        "rule": name,
        "instance": result.instance,
        "cost": cost,
        "cpu_s": result.cpu_s,
        "root_s": result.root_s,
        "nodes": result.nodes,
        "capped": not result.finished,
        "status": result.status,
    }


def _ms(entry: AnyEntry) -> int:
    return int(entry.at_unix_s * 1000)
