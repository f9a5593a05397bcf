"""An evolution in MLflow: what its journal says, as one parent run, one child run per sample, one trace per model call.

Nothing is told to MLflow that is not in the run's folder first, so a server that is away for an hour, a process that is
killed and a server that has lost everything are all the same: what MLflow lacks of the journal is delivered, in order.
Delivering an entry again changes nothing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

from bife_core.evolution import files as reports
from bife_core.evolution.journal import (
    AnyEntry,
    Completed,
    Drafted,
    Ended,
    HighScored,
    JournalError,
    Opened,
    Referred,
    Scored,
    Settled,
    Started,
    Stopped,
    read_journal,
)
from bife_core.scip.builtin import RPB
from bife_core.search import ReflectionRequest, SampleRequest
from bife_core.wording import counted
from tasks.stores import home_store
from tasks.tracking import prompts, store, views
from tasks.tracking.design_solves import reference_rows, rule_rows
from tasks.tracking.marker import write_marker
from tasks.tracking.outage import TROUBLE, RefusedError, outage, refuses, twice
from tasks.tracking.sample_runs import Known, SampleRuns, began_ms
from tasks.tracking.traces import calls_of, store_traces, stored_traces

STOPPED: Final = "stopped"
"""Tag of a run that was given up for now: the reason."""

ENDED_BY: Final = "ended_by"
"""Tag of a run that is over: which limit of its budget ended it, or `OWN_END`."""

OWN_END: Final = "search.samples"
"""The search came to its own end, and nothing more will become known of it."""

DESIGN_SOLVES: Final = "design_solves.json"
"""Artifact: the solves that F_HF is made of, one row per rule and design instance, RPB's first."""

UNTRACED: Final = "untraced"
"""Tag of a run with calls whose traces MLflow will not take: their names."""

_MOST_NAMED: Final = 100
_OF_A_GENERATION: Final = (reports.LINEAGE,)
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
"""Files of the folder that are artifacts; `reports.SAMPLES` is one as a table."""

_open: WeakSet[Projection] = WeakSet()


@dataclass
class _InMlflow:
    """What MLflow has of an evolution."""

    children: SampleRuns
    traces: set[str]
    steps: set[int]


class Projection:
    """Writes what MLflow lacks of an evolution's folder; a store that fails stops nobody.

    At its first contact it learns what MLflow has; from then on each `sync` costs what is new in the journal, however
    long that is. It is for whoever holds the evolution's lock, since two that deliver at once would double things.

    Parameters
    ----------
    folder : Path
        The evolution's, with its journal.

    Attributes
    ----------
    run_id : str
        The parent run; empty until MLflow has been reached.
    complete : bool
        Whether MLflow has all of a search that came to its own end.
    under_way : bool
        Whether the journal, as far as MLflow has it, says neither that the search ended nor that it stopped.
    samples, traces : int
        How many this object delivered.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run_id, self.complete, self.under_way = "", False, False
        self.samples = self.traces = 0
        self._refusals: list[str] = []
        self._untraced: set[str] = set()
        self._opened: Opened | None = None
        self._place = 0
        self._known: dict[str, Known] = {}
        self._provenance: dict[str, str] = {}
        self._prompted: set[str] = set()
        self._solves: dict[str, list[dict[str, Any]]] = {}
        self._in_mlflow: _InMlflow | None = None
        self._lock = threading.RLock()
        _open.add(self)

    @property
    def name(self) -> str:
        """What a list of runs calls the search; empty while the journal has not been read."""
        return self._opened.name if self._opened is not None else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person must know of entries and traces that MLflow refused for good."""
        if not self._untraced:
            return tuple(self._refusals)
        names = ", ".join(sorted(self._untraced)[:_MOST_NAMED])
        calls = counted(len(self._untraced), "call")
        untraced = f"MLflow takes no trace of {calls} ({names}); {home_store().name} has all of it."
        return (*self._refusals, untraced)

    def sync(self, *, now: bool = False) -> bool:
        """Deliver what the journal has and MLflow lacks, and say whether nothing is left.

        Parameters
        ----------
        now : bool
            Whether to try although the server did not answer a moment ago.

        Raises
        ------
        JournalError
            If the journal cannot be read.
        """
        with self._lock:
            new = list(read_journal(home_store(), self.folder.name, self._place))
            if not new:
                return True
            whole = False
            try:
                whole = outage.reach(partial(self._deliver, new), now=now) or False
            finally:
                if not whole:
                    # Away, or we are being stopped: what was written in that moment may have arrived; it is looked up.
                    self._in_mlflow = None
                write_marker(self.folder.name, self.run_id, self._place)
            return whole

    def interrupt(self, reason: str) -> None:
        """Mark the run as stopped by a person, to be taken up again; one that has ended is left as it is.

        Called while the process ends, so nothing is waited for: a store that is away is not told, and the next start
        opens the run again.
        """
        if self.run_id and self.under_way and not outage.reason:
            with suppress(*TROUBLE):
                store.log(self.run_id, tags={STOPPED: reason})
                store.end_run(self.run_id, "KILLED")

    def _deliver(self, new: Sequence[tuple[AnyEntry, int]]) -> bool:
        if isinstance(new[0][0], Opened):
            self._opened = new[0][0]
        if self._in_mlflow is None:
            self._learn()
        if self.complete:
            self._place = new[-1][1]
            return True
        entries = [entry for entry, _ in new]
        self._trace(entries)
        self._link_prompts(entries)
        milestones = [place for entry, place in new if isinstance(entry, Completed | Ended)]
        for entry, place in new:
            self._hand_over(entry, with_files=place in milestones[-1:])
            self._place = place
        return True

    def _learn(self) -> None:
        """Find or make the parent run, and learn what MLflow has of it."""
        opened = self._opened
        if opened is None:
            raise store.TrackingError(f"The search {self.folder.name} does not begin with what it is.")
        tags = {"kind": "evolution", "evolution_key": opened.key, **opened.tags}
        run_id, finished = store.open_run(
            store.EVOLUTION, opened.key, opened.name, tags, start_ms=_ms(opened)
        )
        # One that a limit ended is finished too, and may be taken up again.
        self.complete = finished and store.tags(run_id).get(ENDED_BY) == OWN_END
        if self.run_id not in ("", run_id):
            # Somebody deleted it, or the server lost it: all of the folder is to be delivered anew.
            self.run_id, self._place, self._known = "", 0, {}
            raise store.TrackingError(f"the run of {self.folder.name} is not there any more")
        self.run_id = run_id
        if self.complete:
            return
        self._in_mlflow = _InMlflow(
            children=SampleRuns(opened.key, run_id),
            traces=stored_traces(run_id, store.experiment_id(store.EVOLUTION)),
            steps={metric.step for metric in store.client().get_metric_history(run_id, "samples")},
        )

    def _link_prompts(self, entries: Sequence[AnyEntry]) -> None:
        """Note which templates calls were made with, by their operators; what is refused is left out with a note."""
        opened = self._opened
        if opened is None or not opened.prompts:
            return
        asked = {
            str(call.inputs["operator"]) for entry in entries for call in calls_of(entry)
        } - self._prompted
        link = partial(
            prompts.link_prompts, self.run_id, asked, opened.params.get("generator.prompt_version")
        )
        if asked:
            try:
                twice(link)
            except RefusedError as error:
                self._refusals.append(
                    f"MLflow refused the prompt templates of {', '.join(sorted(asked))} ({error})."
                )
            self._prompted |= asked

    def _hand_over(self, entry: AnyEntry, *, with_files: bool) -> None:
        """Deliver an entry; one that is refused for good is left out with a note."""
        try:
            twice(partial(self._project, entry, with_files=with_files), self._learn)
        except RefusedError as error:
            self._refusals.append(
                f"MLflow refused a record ({error}): the entry {entry.kind!r} of "
                f"{_ms(entry) / 1000:.3f} of {self.folder.name}. It is left out there."
            )

    def _project(self, entry: AnyEntry, *, with_files: bool) -> None:
        if self.complete:
            return
        known = self._known
        match entry:
            case Opened():
                self._describe(entry)
            case Started():
                store.client().update_run(self.run_id, status="RUNNING")
                # What the process before said of itself and this one does not say is over.
                store.forget_tags(
                    self.run_id, STOPPED, ENDED_BY, *(self._provenance.keys() - entry.provenance)
                )
                store.log(self.run_id, tags=entry.provenance)
                self._provenance = entry.provenance
                self.under_way = True
            case Drafted(request=ReflectionRequest() as request):
                self._mlflow.children.reflection(request, entry.draft, _ms(entry), self._provenance)
            case Drafted(request=SampleRequest() as asked):
                began = began_ms(entry.draft, _ms(entry))
                known[asked.id] = Known(asked, entry.draft, began, low_ms=_ms(entry), done_ms=_ms(entry))
            case Scored():
                of = known.setdefault(entry.id, Known())
                of.low, of.low_ms, of.done_ms = entry.score, _ms(entry), _ms(entry)
            case HighScored():
                of = known.setdefault(entry.id, Known())
                of.high, of.done_ms = entry.score, _ms(entry)
                self._solves[entry.id] = rule_rows(entry.id, entry.score)
            case Referred():
                self._solves[RPB] = reference_rows(entry.reference)
            case Settled():
                sample = entry.sample
                self.samples += self._mlflow.children.sample(
                    sample, known.get(sample.id) or Known(), _ms(entry), self._provenance
                )
                known.pop(sample.id, None)
            case Completed():
                self._generation(entry, with_files=with_files)
            case Ended():
                self._end(entry, with_files=with_files)
            case Stopped():
                for name, unsettled in known.items():
                    self._mlflow.children.unsettled(name, unsettled, _ms(entry), self._provenance)
                self._log_solves()
                store.log(self.run_id, tags={STOPPED: entry.reason})
                store.end_run(self.run_id, "KILLED" if entry.by_person else "FAILED", _ms(entry))
                self.under_way = False

    @property
    def _mlflow(self) -> _InMlflow:
        assert self._in_mlflow is not None
        return self._in_mlflow

    def _describe(self, opened: Opened) -> None:
        """Write what the search is, the data it reads, and the view that shows its samples."""
        store.log(self.run_id, params=opened.params)
        for dataset in opened.datasets:
            store.log_dataset(self.run_id, **dataset)
        views.save_lists()
        views.save_view(self.run_id, opened.name, _ms(opened))

    def _generation(self, entry: Completed, *, with_files: bool) -> None:
        step = entry.summary.generation
        if step in self._mlflow.steps:
            return
        if with_files:
            self._files(_OF_A_GENERATION)
        # Last, since it is what tells that MLflow has the generation.
        store.log(self.run_id, metrics=generation_metrics(entry), step=step, time_ms=_ms(entry))
        self._mlflow.steps.add(step)

    def _end(self, entry: Ended, *, with_files: bool) -> None:
        if with_files:
            self._files(_OF_THE_END)
        self._log_solves()
        best = entry.best
        metrics: dict[str, float | None] = {**entry.cost.metrics()}
        tags = {"best_sample": "none"}
        if best is not None:
            metrics |= {"final_f_lf": best.f_lf, "final_f_hf": best.f_hf}
            tags = {"best_sample": best.id, "best_sha": best.sha or ""}
        about = "No sampled rule was of use; the reasons are in samples.json."
        if best is not None:
            about = f"{reports.abstract(best)}\n\nAll samples, best first: samples.json"
        if entry.ended_by is not None:
            about = f"{entry.ended_by}\n\n{about}"
        tags |= {ENDED_BY: entry.ended_by or OWN_END, "mlflow.note.content": about}
        store.log(self.run_id, metrics=metrics, tags=tags, time_ms=_ms(entry))
        store.end_run(self.run_id, "FINISHED", _ms(entry))
        self.complete = entry.ended_by is None
        self.under_way = False

    def _log_solves(self) -> None:
        """Store the table of the design instances' solves, once the search ends or stops: it grows with it."""
        if self._solves:
            store.log_table(
                self.run_id, [row for rows in self._solves.values() for row in rows], DESIGN_SOLVES
            )

    def _files(self, names: Sequence[str]) -> None:
        """Store files of the folder that are there, and the table of samples, as they are now."""
        table = self.folder / reports.SAMPLES
        with suppress(FileNotFoundError, ValueError):  # a kill may have left half of it
            store.log_table(self.run_id, json.loads(table.read_text(encoding="utf-8")), reports.SAMPLES)
        store.log_files(self.run_id, [str(self.folder / name) for name in names])

    def _trace(self, entries: Sequence[AnyEntry]) -> None:
        """Store the calls behind all answers, and those of requests that got none; name those that are refused."""
        # A call is told of again with a later answer to the same request, as one read back from disk.
        first = {call.name: call for entry in reversed(entries) for call in calls_of(entry)}
        missing = [first[name] for name in sorted(first.keys() - self._mlflow.traces - self._untraced)]
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
            # A server that takes this is not away: what it lacks now it will not take later either.
            store.log(self.run_id, tags={UNTRACED: " ".join(sorted(refused)[:_MOST_NAMED])})
            self._untraced = refused
        delivered = {call.name for call in missing} - refused
        self._mlflow.traces |= delivered
        self.traces += len(delivered)


def mark_interrupted(reason: str) -> None:
    """Mark all evolutions of this process that are under way as stopped by a person, then deliver what is known.

    First the mark, for the process may be gone before all is delivered.
    """
    for projection in list(_open):
        projection.interrupt(reason)
    for projection in list(_open):
        with suppress(JournalError):
            projection.sync()


def generation_metrics(entry: Completed) -> dict[str, float | None]:
    """Return the points a generation adds to the curves of its run."""
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


def _ms(entry: AnyEntry) -> int:
    return int(entry.at_unix_s * 1000)
