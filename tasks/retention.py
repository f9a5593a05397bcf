"""What a home can do without: files and MLflow's runs of old studies and old expert samples, never evidence.

The store stays whole: answers of models, solves, and what instances served. From it a study that was removed comes
back when its command is given again, and nothing is solved or billed again.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mlflow.entities import LifecycleStage, Run

from bife_core.benchmarks.config import InstancesConfig
from bife_core.store import StudyRow
from bife_core.study.journal import left_open, read_journal
from tasks.collection import samples_name
from tasks.home import megabytes, project_home
from tasks.registry.reading import list_rules
from tasks.stores import home_store
from tasks.tracking import lacking, mlflow_run, provenance, read_record, store
from tasks.tracking.store import TrackingError

_INSTANCES: Final = "instances."


@dataclass(frozen=True)
class Removable:
    """Folders and runs in MLflow that make one thing of the home, such as a study."""

    folders: tuple[Path, ...]
    runs: tuple[str, ...] = ()

    @property
    def size_mb(self) -> float:
        """Megabytes of its files."""
        return sum(map(megabytes, self.folders))

    def remove(self) -> None:
        """Remove its files, and take its runs from MLflow's lists."""
        for run in self.runs:
            store.client().delete_run(run)
        for folder in self.folders:
            shutil.rmtree(folder)


class Retention:
    """What of a home has not changed since a Unix time and is named by no registered rule's evidence.

    MLflow lacks nothing of `studies`, `samples` are used by no search that stays, and `flow_runs` of Prefect
    must stay.
    """

    def __init__(self, before_unix_s: float) -> None:
        tags = [rule.tags for rule in list_rules()]
        self._named = {own.get(name, "") for own in tags for name in ("evolution_key", "decisions_digest")}
        self._runs = {own.get(name, "") for own in tags for name in ("evaluation_run", "evolution_run")} - {
            ""
        }
        self._before_unix_s = before_unix_s
        self._lacking = {row.key for row, _ in lacking()}
        rows = home_store().studies()
        old = [row for row in rows if self._old(row)]
        kept = {_samples_of(row) for row in rows if row.kind == "evolution" and row not in old}
        self.studies = [one for row in old if (one := _removable(row)).folders or one.runs]
        folders = [path for path in project_home().decisions.iterdir() if path.name not in kept]
        self.samples = [Removable((path,)) for path in folders if self._unchanged(path)]

    @property
    def flow_runs(self) -> set[str]:
        """Ids of the flow runs that made what the evidence names."""
        tags = [run.data.tags for run in map(_run, self._runs) if run is not None]
        return {own.get(name, "") for own in tags for name in ("prefect.flow_run_id", provenance.WHOLE_RUN)}

    def _old(self, row: StudyRow) -> bool:
        last = [event.at_unix_s for event in home_store().events(row.key, row.last - 1)]
        if (
            left_open(row)
            or row.key in self._lacking
            or max(last, default=row.created_unix_s) >= self._before_unix_s
        ):
            return False
        record = read_record(row.key) if row.kind == "collection" else None
        names = {row.key, str(record.params.get("decisions_digest")) if record is not None else ""} - {""}
        return mlflow_run(row.key) not in self._runs and not names & self._named

    def _unchanged(self, folder: Path) -> bool:
        return all(path.stat().st_mtime < self._before_unix_s for path in folder.rglob("*"))


def _samples_of(row: StudyRow) -> str:
    """Return the name of the folder whose expert samples a search used."""
    opened, _ = next(read_journal(home_store(), row.key), (None, 0))
    params = opened.params if opened is not None and opened.kind == "opened" else {}
    own = {k.removeprefix(_INSTANCES): v for k, v in params.items() if k.startswith(_INSTANCES)}
    return samples_name(InstancesConfig.model_validate(own)) if own else ""


def _removable(row: StudyRow) -> Removable:
    run = _run(mlflow_run(row.key))
    runs = () if run is None or run.info.lifecycle_stage != LifecycleStage.ACTIVE else (run.info.run_id,)
    if row.kind == "evolution":
        runs += tuple(child.info.run_id for run in runs for child in store.children(run))
    artifacts = project_home().mlflow / "artifacts"
    folders = (project_home().runs / row.key, *(artifacts / run for run in runs))
    return Removable(tuple(folder for folder in folders if folder.exists()), runs)


def _run(number: str) -> Run | None:
    """Return a run of MLflow's; None for one that it has lost or that was deleted for good."""
    try:
        return store.client().get_run(number) if number else None
    except store.TRACKING_TROUBLE as error:
        if getattr(error, "error_code", "") == "RESOURCE_DOES_NOT_EXIST":
            return None
        raise TrackingError(f"MLflow cannot say what may go ({store.first_line(error)}).") from error
