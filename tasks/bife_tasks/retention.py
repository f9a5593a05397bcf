"""What a home can do without: old files and runs, from which no evidence comes; the store has all to make them anew."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bife_core.run.stages.records import read_record
from bife_core.run.study.journal import JournalError, Opened, left_open, read_journal
from bife_core.store import StudyRow
from bife_core.store.home import megabytes, project_home
from bife_tasks import mlflow_tracks
from bife_tasks.home import mlflow_folder
from bife_tasks.registry import registry
from bife_tasks.stores import cursor_of, home_store, lacking, mlflow_run, subscriber

if TYPE_CHECKING:
    from mlflow.entities import Run


@dataclass(frozen=True)
class Removable:
    """Folders and runs in MLflow that make one thing of the home, such as a study."""

    folders: tuple[Path, ...]
    runs: tuple[str, ...] = ()
    study: str = ""

    @property
    def size_mb(self) -> float:
        """Megabytes of its files."""
        return sum(map(megabytes, self.folders))

    def remove(self) -> None:
        """Remove its files, and take its runs from MLflow's lists."""
        if self.runs:
            from bife_tasks.tracking.mlflow_runs import client

            for run in self.runs:
                client().delete_run(run)
        if (seen := cursor_of(self.study)) is not None:
            # The same command makes a run anew; nothing else does, since MLflow has had all events.
            home_store().set_cursor(subscriber(), self.study, seen[0])
        for folder in self.folders:
            shutil.rmtree(folder)


class Retention:
    """What of a home has not changed since a Unix time and is named by no registered rule's evidence.

    MLflow lacks nothing of `studies`, no search that stays uses `samples`; `flow_runs` of Prefect must stay.
    """

    def __init__(self, before_unix_s: float) -> None:
        tags = [registry().registered(rule.reference).tags for rule in registry().versions()]
        runs = {of_rule.get(name, "") for of_rule in tags for name in ("evaluation_run", "search_run")}
        named = {of_rule.get(name, "") for of_rule in tags for name in ("search_key", "decisions_digest")}
        self._named = (named | runs) - {""}
        self._before_unix_s = before_unix_s
        self._lacking = {row.key for row, _ in lacking()}
        rows = home_store().studies()
        old = [row for row in rows if self._old(row)]
        used = {_samples_of(row) for row in rows if row.kind == "search" and row not in old}
        self.studies = [study for study in map(_removable, old) if study.folders or study.runs]
        folders = [] if None in used else [*project_home().decisions.iterdir()]
        kept = {f"decisions-{digest}.npz" for digest in used | self._named}
        self.samples = [Removable((path,)) for path in folders if self._unchanged(path, kept)]
        tracked = [run for run in map(_run, runs) if run is not None]
        self.flow_runs = {number for run in tracked for number in _flow_runs(run)}

    def _old(self, row: StudyRow) -> bool:
        events = home_store().events(row.key, row.last - 1)
        last_unix_s = max((event.at_unix_s for event in events), default=row.created_unix_s)
        if left_open(row) or row.key in self._lacking or last_unix_s >= self._before_unix_s:
            return False
        record = read_record(home_store(), row.key)[0] if row.kind == "collection" else None
        digest = "" if record is None else str(record.params.get("decisions_digest"))
        return not {row.key, digest, mlflow_run(row.key)} & self._named

    def _unchanged(self, folder: Path, kept: set[str]) -> bool:
        """Whether a folder of ours, not one that is linked to, is old and holds none of the files that are kept."""
        if folder.is_symlink() or not folder.is_dir():
            return False
        below = [*folder.rglob("*")]
        changed = any(path.lstat().st_mtime >= self._before_unix_s for path in below)
        return not changed and kept.isdisjoint(path.name for path in below)


def _samples_of(row: StudyRow) -> str | None:
    """Return the digest of the expert samples that a search uses, "" if it uses none, None if it does not say."""
    try:
        opened, _ = next(read_journal(home_store(), row.key), (None, 0))
    except JournalError:  # of another version
        return None
    if not isinstance(opened, Opened) or not opened.params:
        return None
    return str(opened.params.get("decisions", ""))


def _removable(row: StudyRow) -> Removable:
    runs: tuple[str, ...] = ()
    if (run := _run(mlflow_run(row.key))) is not None and run.info.lifecycle_stage == "active":
        from bife_tasks.tracking.mlflow_runs import children

        below = children(run.info.run_id, f"bife-{row.kind}")
        runs = (run.info.run_id, *(child.info.run_id for child in below))
    artifacts = mlflow_folder(project_home()) / "artifacts"
    folders = (project_home().runs / row.key, *(artifacts / run for run in runs))
    return Removable(tuple(folder for folder in folders if folder.exists()), runs, row.key)


def _flow_runs(run: Run) -> list[str]:
    """Return the flow runs of Prefect that a run was made by."""
    from bife_tasks.tracking.provenance import WHOLE_RUN

    return [run.data.tags.get(name, "") for name in ("prefect.flow_run_id", WHOLE_RUN)]


def _run(number: str) -> Run | None:
    """Return a run of MLflow's; None for one that it has lost or that was deleted for good."""
    if not (number and mlflow_tracks()):
        return None
    from bife_tasks.tracking.mlflow_runs import TRACKING_TROUBLE, TrackingError, client, first_line

    try:
        return client().get_run(number)
    except TRACKING_TROUBLE as error:
        if getattr(error, "error_code", "") == "RESOURCE_DOES_NOT_EXIST":
            return None
        raise TrackingError(f"MLflow cannot say what may go ({first_line(error)}).") from error
