"""All folders of the home's runs, and what MLflow lacks of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bife_core.errors import BifeError
from bife_core.evolution.journal import JOURNAL, JournalError, read_journal
from bife_core.values import Value
from tasks.home import project_home
from tasks.locks import LockTimeoutError, process_lock
from tasks.tracking import stages, store
from tasks.tracking.marker import read_marker
from tasks.tracking.outage import outage
from tasks.tracking.projection import Projection

_NOBODY = "The process ended; the same command goes on where it stopped."


class Delivery(Value):
    """What became of one folder.

    Attributes
    ----------
    name : str
        What a list of runs calls it.
    run_id : str
        Its run; empty where MLflow was not reached.
    samples, traces : int
        How many MLflow lacked and has now.
    left : str
        Why MLflow does not have all of it, as a sentence; empty where it does.
    """

    folder: Path
    name: str
    run_id: str = ""
    samples: int = 0
    traces: int = 0
    left: str = ""
    notes: tuple[str, ...] = ()


def run_folders() -> list[Path]:
    """Return the folders of the home that MLflow is told of, oldest first."""
    records = [
        record
        for folder in project_home().runs.iterdir()
        for record in (folder / JOURNAL, folder / stages.FILE)
        if record.is_file()
    ]
    return [record.parent for record in sorted(records, key=lambda record: record.stat().st_mtime_ns)]


def deliver(*, again: bool = False) -> Iterator[Delivery]:
    """Deliver what our MLflow lacks of all runs in the home, run by run.

    Parameters
    ----------
    again : bool
        Whether to look at those too of which this MLflow once had everything: it may have lost it.
    """
    for folder in run_folders():
        marker = read_marker(folder)
        if again or marker is None or marker.uri != store.tracking_uri() or _lacking(folder, marker.place):
            yield _deliver(folder)


def deliver_waiting() -> str | None:
    """Try once more to deliver what an outage or a kill kept back; return a sentence on what is left, or None.

    It looks after what this home has told or tried to tell. What was made elsewhere, and what another MLflow has all
    of, is not brought here; that is what ``bife track`` is for.
    """
    left = sum(map(_waits, run_folders()))
    if left == 0:
        return None
    runs = "1 run is" if left == 1 else f"{left} runs are"
    return (
        f"{runs} not, or not whole, in MLflow, because {store.tracking_uri()} cannot be reached; "
        f"{project_home().runs} has everything, and the same command or `bife track` delivers it once it can."
    )


def _waits(folder: Path) -> bool:
    """Whether a folder waits for an MLflow that does not answer; otherwise it is delivered."""
    marker = read_marker(folder)
    if marker is None or not _lacking(folder, marker.place):
        return False
    return bool(_deliver(folder, now=False).left and outage.reason)


def _lacking(folder: Path, place: int) -> bool:
    """Whether there is more of a folder than MLflow has."""
    stage = folder / stages.FILE
    if stage.is_file():
        return stage.stat().st_size > place
    try:
        return next(read_journal(folder, place), None) is not None
    except JournalError:
        return True


def _deliver(folder: Path, *, now: bool = True) -> Delivery:
    """Deliver a folder unless a process is at it, which does so itself."""
    is_stage = (folder / stages.FILE).is_file()
    lock = stages.stage_lock(folder) if is_stage else project_home().locks / f"evolution-{folder.name}.lock"
    try:
        with process_lock(lock, timeout_s=0.0):
            return _stage(folder, now) if is_stage else _evolution(folder, now)
    except LockTimeoutError:
        return Delivery(
            folder=folder, name=folder.name, left="A process is at it, and delivers it as it goes on."
        )
    except (BifeError, ValueError) as error:
        return Delivery(folder=folder, name=folder.name, left=str(error))


def _stage(folder: Path, now: bool) -> Delivery:
    stage = stages.read_stage(folder)
    run_id = stages.project_stage(folder, now=now)
    return Delivery(
        folder=folder,
        name=stage.name if stage is not None else folder.name,
        run_id=run_id,
        left="" if run_id else _unreached(),
    )


def _evolution(folder: Path, now: bool) -> Delivery:
    projection = Projection(folder)
    whole = projection.sync(now=now)
    if whole and projection.under_way:
        # Nobody holds its lock, and it says nothing of its end: it was killed.
        projection.interrupt(_NOBODY)
    return Delivery(
        folder=folder,
        name=projection.name or folder.name,
        run_id=projection.run_id,
        samples=projection.samples,
        traces=projection.traces,
        left="" if whole else _unreached(),
        notes=projection.notes,
    )


def _unreached() -> str:
    return f"MLflow at {store.tracking_uri()} cannot be reached ({outage.reason})."
