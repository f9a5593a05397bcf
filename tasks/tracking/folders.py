"""All folders of the home's runs, and what MLflow lacks of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from bife_core.errors import BifeError
from bife_core.evolution.closing import close_left, left_open
from bife_core.store import ClaimTimeoutError, StudyRow
from bife_core.values import Value
from tasks.home import project_home
from tasks.stores import home_store
from tasks.tracking import stages, store
from tasks.tracking.marker import read_marker, write_marker
from tasks.tracking.outage import outage
from tasks.tracking.projection import Projection
from tasks.tracking.provenance import WHOLE_RUN

GONE = "The process ended; the same command goes on where it stopped."
"""What a search is closed with when nobody was left to say why it stopped."""


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


class Waiting(Value):
    """What an MLflow that does not answer lacks.

    Attributes
    ----------
    records : int
        Entries of journals, and whole stages.
    runs : int
        Runs they belong to.
    """

    records: int
    runs: int

    @property
    def count(self) -> str:
        """How many records wait, in words."""
        return "1 record waits" if self.records == 1 else f"{self.records} records wait"

    @property
    def sentence(self) -> str:
        """What a person is told."""
        runs = "1 run is" if self.runs == 1 else f"{self.runs} runs are"
        return (
            f"{self.count} for MLflow: {runs} not, or not whole, there, because {store.tracking_uri()} cannot be "
            f"reached; {project_home().runs} has everything, and the next run, the worker or `bife track` delivers "
            "it once it can be."
        )


def deliver(*, again: bool = False) -> Iterator[Delivery]:
    """Deliver what our MLflow lacks of all studies of the home, one by one.

    Parameters
    ----------
    again : bool
        Whether to look at those too of which this MLflow once had everything: it may have lost it.
    """
    for row in home_store().studies():
        marker = read_marker(row.key)
        if again or marker is None or row.last > marker.place:
            yield _deliver(row)


def bring_home(reason: str, *, by_person: bool = False, of: str | None = None) -> Waiting | None:
    """Close the searches of this home that no process is at any more, deliver what waits, and return what is left.

    What such a search paid for is on disk: its journal, and the calls that the journal does not know of yet.

    Parameters
    ----------
    reason : str
        Why they stopped, as a sentence; it becomes a tag of their runs.
    by_person : bool
        Whether a person stopped them.
    of : str, optional
        The run of Prefect's whose searches are closed; what others left open is left so.
    """

    def own(provenance: Mapping[str, str]) -> bool:
        return of is None or provenance.get(WHOLE_RUN) == of

    # Whoever came by between the end of that run's process and now could only say that it is gone.
    known = GONE if of is not None else ""
    events = home_store()
    for row in (row for row in events.studies("evolution") if left_open(events, row, known)):
        folder = _folder(row)
        with (
            suppress(ClaimTimeoutError, BifeError),
            home_store().claim(_evolution_claim(folder), timeout_s=0.0),
        ):
            closed = close_left(events, folder, reason, by_person=by_person, instead_of=known, whose=own)
            if (
                closed and read_marker(row.key) is None
            ):  # killed before MLflow had answered for the first time
                write_marker(row.key, "", 0)
    return deliver_waiting()


def under_way() -> int:
    """Return how many searches of this home a process is at; right after `bring_home`, which closes all others."""
    return sum(left_open(home_store(), row) for row in home_store().studies())


def deliver_waiting() -> Waiting | None:
    """Try once more to deliver what an outage or a kill kept back; return what is left, or None.

    It looks after what this home has told or tried to tell. What was made elsewhere, and what another MLflow has all
    of, is not brought here; that is what ``bife track`` is for.
    """
    left = [count for count in map(_waiting, home_store().studies()) if count]
    return Waiting(records=sum(left), runs=len(left)) if left else None


def _waiting(row: StudyRow) -> int:
    """Deliver a study, and return how many of its records wait for an MLflow that does not answer."""
    marker = read_marker(row.key)
    if marker is None or row.last <= marker.place:
        return 0
    if not _deliver(row, now=False).left or not outage.reason:
        return 0
    known = read_marker(row.key) or marker
    return 1 if row.kind != "evolution" else row.last - known.place


def _folder(row: StudyRow) -> Path:
    return project_home().runs / row.key


def _deliver(row: StudyRow, *, now: bool = True) -> Delivery:
    """Deliver a study unless a process is at it, which does so itself."""
    folder, is_stage = _folder(row), row.kind != "evolution"
    claim = stages.stage_claim(folder) if is_stage else _evolution_claim(folder)
    try:
        with home_store().claim(claim, timeout_s=0.0):
            return _stage(folder, now) if is_stage else _evolution(folder, now)
    except ClaimTimeoutError:
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
        projection.interrupt(GONE)
    return Delivery(
        folder=folder,
        name=projection.name or folder.name,
        run_id=projection.run_id,
        samples=projection.samples,
        traces=projection.traces,
        left="" if whole else _unreached(),
        notes=projection.notes,
    )


def _evolution_claim(folder: Path) -> str:
    return f"evolution {folder.name}"


def _unreached() -> str:
    return f"MLflow at {store.tracking_uri()} cannot be reached ({outage.reason})."
