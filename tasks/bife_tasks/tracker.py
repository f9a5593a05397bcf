"""MLflow as the tracker of runs."""

from __future__ import annotations

import time
from itertools import count

from bife_core.base.errors import RegistryError
from bife_core.registry.base import Registry
from bife_core.registry.evidence import RegisteredRule
from bife_core.run.observer import TrackedRun
from bife_core.run.stages.records import SEARCH, Record
from bife_core.run.stages.tracker import Tracker
from bife_tasks.registry.mlflow_registry import IN_MLFLOW, carry_over
from bife_tasks.stores import mlflow_run, observer
from bife_tasks.tracking import mlflow_runs
from bife_tasks.tracking.mlflow_runs import TrackingError, ranking_url, refused, run_url
from bife_tasks.tracking.provenance import provenance
from bife_tasks.tracking.subscriber import RETRY_S, synchronise, track_record, track_search


class MlflowTracker(Tracker):
    """Copies what the store records to MLflow, whose registry has the rules."""

    name = "MLflow"
    provenance = staticmethod(provenance)
    facts = staticmethod(mlflow_runs.run_facts)

    @property
    def registry(self) -> Registry:  # noqa: D102
        return IN_MLFLOW

    def require(self, wait_s: float = 0.0) -> None:
        """Raise `TrackingError` if MLflow refuses to be written to, or is away after `wait_s` seconds."""
        for waited_s in count(0.0, RETRY_S):
            try:
                mlflow_runs.client()
                return
            except TrackingError as error:
                if refused(error.__cause__) or waited_s >= wait_s:
                    raise
                if not waited_s:
                    observer().note(f"The run begins once MLflow answers. {error}")
            time.sleep(RETRY_S)

    def show(self, study: str, record: Record) -> TrackedRun:
        """Store a record and write it to MLflow."""
        run = track_record(self.home.runs / study, record)
        return TrackedRun(run_id=run, url=run_url(run, record.experiment), tracker=self.name)

    def follow(self, study: str) -> TrackedRun:  # noqa: D102
        track_search(study)
        run = mlflow_run(study)
        return TrackedRun(run_id=run, url=run_url(run, SEARCH), ranking=ranking_url(run), tracker=self.name)

    def synchronise(self, reason: str, *, by_person: bool = False, of: str | None = None) -> str:
        """Write to MLflow what it lacks, rules too that the home registered without it; say what it lacks still."""
        if left := synchronise(reason, by_person=by_person, of=of):
            return left
        try:
            carry_over()
        except RegistryError as error:
            observer().note(str(error))
        return ""

    def page_of(self, rule: RegisteredRule) -> str:
        """Return the page of a registered version."""
        return mlflow_runs.page(f"models/{rule.name}/versions/{rule.version}")
