"""An evolution in MLflow: one parent run, one child run per sample or reflection, one trace per model call.

MLflow is a subscriber of the store. It reads the events after its cursor and writes each by key, so that writing one
again changes nothing: an outage, a killed process and an MLflow that lost everything are treated alike.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final
from weakref import WeakSet

from bife_core.errors import BifeError
from bife_core.fidelity.high import HighScore
from bife_core.scip.builtin import RPB
from bife_core.scip.solving import SolveResult
from bife_core.search import ReflectionRequest, SampleRequest
from bife_core.study import files as reports
from bife_core.study.journal import (
    AnyEntry,
    Completed,
    Drafted,
    Ended,
    HighScored,
    Opened,
    Referred,
    Scored,
    Settled,
    Started,
    Stopped,
    read_journal,
)
from bife_core.wording import counted
from tasks.home import project_home
from tasks.stores import home_store
from tasks.tracking import store, views
from tasks.tracking.outage import TROUBLE, RefusedError, outage, read_cursor, refuses, twice, write_cursor
from tasks.tracking.samples import Known, SampleRuns, began_ms
from tasks.tracking.traces import calls_of, store_traces, stored_traces

STOPPED: Final = "stopped"
"""Tag of a run that stopped before its end: the reason."""

ENDED_BY: Final = "ended_by"
"""Tag of a run that is over: the limit of its budget that ended it, or `OWN_END`."""

OWN_END: Final = "search.samples"
"""The search made all its samples."""

DESIGN_SOLVES: Final = "design_solves.json"
"""Artifact: the solves that F_HF is computed from, one row per rule and design instance, RPB's first."""

UNTRACED: Final = "untraced"
"""Tag of a run: names of the calls whose traces MLflow refused."""

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

_open: WeakSet[EvolutionRun] = WeakSet()


class EvolutionRun:
    """Writes the events of an evolution to MLflow; an MLflow that fails stops no search.

    Only the process that holds the evolution's claim may use it.

    Parameters
    ----------
    study : str
        Key of the evolution.

    Attributes
    ----------
    run_id : str
        The parent run; empty until MLflow has been reached.
    complete : bool
        Whether MLflow has all of a search that made all its samples.
    under_way : bool
        Whether the events that MLflow has say neither that the search ended nor that it stopped.
    samples, traces : int
        How many this object wrote.
    """

    def __init__(self, study: str) -> None:
        self.study, self.folder = study, project_home().runs / study
        self.name = self.run_id = ""
        self.complete = self.under_way = False
        self.samples = self.traces = 0
        self._refusals: list[str] = []
        self._untraced: set[str] = set()
        self._prompted: set[str] = set()
        self._written = 0
        self._runs: SampleRuns | None = None
        self._lock = threading.RLock()
        self._forget()
        _open.add(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """Events and traces that MLflow refused, as sentences."""
        if not self._untraced:
            return tuple(self._refusals)
        names = ", ".join(sorted(self._untraced)[:_MOST_NAMED])
        calls = counted(len(self._untraced), "call")
        return (
            *self._refusals,
            f"MLflow refused the traces of {calls} ({names}); {home_store().name} has them.",
        )

    def sync(self, *, now: bool = False) -> bool:
        """Write the events that MLflow lacks, and return whether it has all of them.

        Parameters
        ----------
        now : bool
            Whether to try although MLflow did not answer a moment ago.

        Raises
        ------
        JournalError
            If an event cannot be read.
        """
        with self._lock:
            new = next(home_store().events(self.study, self._read if self._runs is not None else 0), None)
            if new is None:
                return True
            whole = False
            try:
                whole = outage.reach(self._deliver, now=now) or False
            finally:
                if not whole:
                    # What was written at that moment may have arrived: the next contact looks it up.
                    self._runs = None
                write_cursor(self.study, self._written, self.run_id)
            return whole

    def interrupt(self, reason: str, status: str = "KILLED") -> None:
        """Mark the run as stopped; an MLflow that is away is not waited for, and a run that ended stays as it is."""
        if self.run_id and self.under_way and not outage.reason:
            with suppress(*TROUBLE):
                store.log(self.run_id, tags={STOPPED: reason})
                store.end_run(self.run_id, status)

    def _forget(self) -> None:
        """Begin to read the events anew; `_written` still says which of them MLflow has."""
        self._read = 0
        self._opened: Opened | None = None
        self._known: dict[str, Known] = {}
        self._provenance: dict[str, str] = {}
        self._solves: dict[str, list[dict[str, Any]]] = {}
        self.complete = self.under_way = False

    def _deliver(self) -> bool:
        if self._runs is None:
            self._forget()
        new = list(read_journal(home_store(), self.study, self._read))
        if self._runs is None:
            self._contact([entry for entry, _ in new])
        fresh = [entry for entry, seq in new if seq > self._written]
        self._trace(fresh)
        self._link_prompts(fresh)
        milestones = [seq for entry, seq in new if isinstance(entry, Completed | Ended)]
        for entry, seq in new:
            self._take(entry, write=seq > self._written, with_files=seq in milestones[-1:])
            self._read, self._written = seq, max(seq, self._written)
        return True

    def _contact(self, entries: Sequence[AnyEntry] = ()) -> None:
        """Find or make the parent run, and read what MLflow has of it."""
        if entries and isinstance(entries[0], Opened):
            self._opened = entries[0]
        opened = self._opened
        if opened is None:
            raise store.TrackingError(f"The search {self.study} does not begin with what it is.")
        self.name = opened.name
        tags = {"kind": "evolution", "evolution_key": opened.key, **opened.tags}
        run_id, _ = store.open_run(store.EVOLUTION, opened.key, opened.name, tags, start_ms=_ms(opened))
        if self.run_id not in ("", run_id):
            self.run_id, self._runs = "", None
            raise store.TrackingError(f"the run of {self.study} was deleted")
        seq, known = read_cursor(self.study) or (0, "")
        # The cursor of a run that was deleted, or that MLflow lost, is of no use for another.
        self.run_id, self._written = run_id, seq if known == run_id else 0
        self._runs = SampleRuns(opened.key, run_id)
        self._traced = stored_traces(run_id, store.experiment_id(store.EVOLUTION))

    def _take(self, entry: AnyEntry, *, write: bool, with_files: bool) -> None:
        """Write an event if MLflow lacks it, and remember what later ones need; a refused one is noted."""
        try:
            if write:
                twice(partial(self._write, entry, with_files=with_files), self._contact)
        except RefusedError as error:
            self._refusals.append(
                f"MLflow refused a record ({error}): the event {entry.kind!r} of {_ms(entry) / 1000:.3f} of the "
                f"study {self.study}. It is left out there."
            )
        match entry:
            case Opened():
                self._opened = entry
            case Started():
                self._provenance, self.complete, self.under_way = entry.provenance, False, True
            case Drafted(request=SampleRequest() as asked):
                began = began_ms(entry.draft, _ms(entry))
                self._known[asked.id] = Known(
                    asked, entry.draft, began, low_ms=_ms(entry), done_ms=_ms(entry)
                )
            case Scored():
                of = self._known.setdefault(entry.id, Known())
                of.low, of.low_ms, of.done_ms = entry.score, _ms(entry), _ms(entry)
            case HighScored():
                of = self._known.setdefault(entry.id, Known())
                of.high, of.done_ms = entry.score, _ms(entry)
                self._solves[entry.id] = _rule_rows(entry.id, entry.score)
            case Referred():
                results = entry.reference.results
                self._solves[RPB] = [_row(RPB, result, None) for result in results if result is not None]
            case Settled():
                self._known.pop(entry.sample.id, None)
            case Ended():
                self.complete, self.under_way = entry.ended_by is None, False
            case Stopped():
                self.under_way = False

    def _write(self, entry: AnyEntry, *, with_files: bool) -> None:
        assert self._runs is not None
        run, children, known = self.run_id, self._runs, self._known
        match entry:
            case Opened():
                store.log(run, params=entry.params)
                for dataset in entry.datasets:
                    store.log_dataset(run, **dataset)
                views.save_lists()
                views.save_view(run, entry.name, _ms(entry))
            case Started():
                store.client().update_run(run, status="RUNNING")
                store.forget_tags(run, STOPPED, ENDED_BY, *(self._provenance.keys() - entry.provenance))
                store.log(run, tags=entry.provenance)
            case Drafted(request=ReflectionRequest() as request):
                children.reflection(request, entry.draft, _ms(entry), self._provenance)
            case Settled():
                of = known.get(entry.sample.id) or Known()
                self.samples += children.sample(entry.sample, of, _ms(entry), self._provenance)
            case Completed():
                if with_files:
                    self._files((reports.LINEAGE,))
                store.log(run, metrics=_points(entry), step=entry.summary.generation, time_ms=_ms(entry))
            case Ended():
                self._end(entry, with_files=with_files)
            case Stopped():
                for name, unsettled in known.items():
                    children.unsettled(name, unsettled, _ms(entry), self._provenance)
                self._log_solves()
                store.log(run, tags={STOPPED: entry.reason})
                store.end_run(run, "KILLED" if entry.by_person else "FAILED", _ms(entry))

    def _end(self, entry: Ended, *, with_files: bool) -> None:
        if with_files:
            self._files(_OF_THE_END)
        self._log_solves()
        best = entry.best
        metrics: dict[str, float | None] = {**entry.cost.metrics()}
        tags = {"best_sample": "none"}
        about = "No sampled rule was of use; the reasons are in samples.json."
        if best is not None:
            metrics |= {"final_f_lf": best.f_lf, "final_f_hf": best.f_hf}
            tags = {"best_sample": best.id, "best_sha": best.sha or ""}
            about = f"{reports.abstract(best)}\n\nAll samples, best first: samples.json"
        if entry.ended_by is not None:
            about = f"{entry.ended_by}\n\n{about}"
        tags |= {ENDED_BY: entry.ended_by or OWN_END, "mlflow.note.content": about}
        store.log(self.run_id, metrics=metrics, tags=tags, time_ms=_ms(entry))
        store.end_run(self.run_id, "FINISHED", _ms(entry))

    def _log_solves(self) -> None:
        if self._solves:
            rows = [row for rows in self._solves.values() for row in rows]
            store.log_table(self.run_id, rows, DESIGN_SOLVES)

    def _files(self, names: Sequence[str]) -> None:
        """Store files of the folder that are there, and the table of samples, as they are now."""
        with suppress(FileNotFoundError, ValueError):  # a killed process may have left half of it
            rows = json.loads((self.folder / reports.SAMPLES).read_text(encoding="utf-8"))
            store.log_table(self.run_id, rows, reports.SAMPLES)
        store.log_files(self.run_id, [str(self.folder / name) for name in names])

    def _trace(self, entries: Sequence[AnyEntry]) -> None:
        """Store the calls behind all answers, and those of requests that got none; name those that are refused."""
        # A later answer to the same request reports its calls again.
        first = {call.name: call for entry in reversed(entries) for call in calls_of(entry)}
        missing = [first[name] for name in sorted(first.keys() - self._traced - self._untraced)]
        if not missing:
            return
        number = store.experiment_id(store.EVOLUTION)
        try:
            refused = store_traces(missing, run_id=self.run_id, experiment_id=number)
        except TROUBLE as error:
            if not refuses(error):
                raise
            refused = {call.name for call in missing}
        if refused:
            refused |= self._untraced
            # An MLflow that takes this tag is not away: it will not take the traces later either.
            store.log(self.run_id, tags={UNTRACED: " ".join(sorted(refused)[:_MOST_NAMED])})
            self._untraced = refused
        written = {call.name for call in missing} - refused
        self._traced |= written
        self.traces += len(written)

    def _link_prompts(self, entries: Sequence[AnyEntry]) -> None:
        """Note on the run which prompt templates its calls were made with, by their operators."""
        opened = self._opened
        if opened is None or not opened.prompts:
            return
        calls = (call for entry in entries for call in calls_of(entry))
        asked = {str(call.inputs["operator"]) for call in calls} - self._prompted
        if not asked:
            return
        used = opened.params.get("generator.prompt_version")
        try:
            twice(partial(views.link_prompts, self.run_id, asked, used))
        except RefusedError as error:
            self._refusals.append(
                f"MLflow refused the prompt templates of {', '.join(sorted(asked))} ({error})."
            )
        self._prompted |= asked


def mark_interrupted(reason: str) -> None:
    """Mark all evolutions of this process that are under way as stopped by a person, then write what is left.

    The mark comes first because the process may be killed before all is written.
    """
    for run in list(_open):
        run.interrupt(reason)
    for run in list(_open):
        with suppress(BifeError):
            run.sync()


def _points(entry: Completed) -> Mapping[str, float | None]:
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


def _rule_rows(name: str, score: HighScore) -> list[dict[str, Any]]:
    """Return the solves of a rule; those that racing cut short have no result."""
    costs: Iterable[float | None] = [cost for cost in score.costs if cost is not None]
    if len(score.results) != sum(1 for _ in costs):
        costs = [None] * len(score.results)
    return [_row(name, result, cost) for result, cost in zip(score.results, costs, strict=True)]


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
