"""The events of an evolution: everything it found out, in the order it was found.

A search draws nothing but from its seed and its answers, so the events are enough to go on where a process ended, and
to tell a subscriber, MLflow for one, what happened. They are rows of the store, only ever added.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Final, Literal, TypeVar
from weakref import WeakSet

from pydantic import Field, TypeAdapter

from bife_core.errors import BifeError
from bife_core.fidelity.high import HighScore
from bife_core.fidelity.load_correction import Reference
from bife_core.fidelity.low import LowScore
from bife_core.fidelity.trial import TrialScore
from bife_core.generators import Draft, Spending
from bife_core.search import (
    GenerationSummary,
    Sample,
    SearchCost,
    TrialRequest,
    WrittenRequest,
)
from bife_core.store import Store
from bife_core.values import Value, describe

_HOUR_S: Final = 3600.0


class JournalError(BifeError):
    """A journal cannot be read, or is that of another search."""


class Entry(Value):
    """What every line says beside its own: when, and how long the search had run.

    Attributes
    ----------
    at_unix_s : float
        Seconds since 1970.
    elapsed_s : float
        Wall seconds the search had run by then, over all its starts.
    """

    at_unix_s: float = 0.0
    elapsed_s: float = 0.0


class Opened(Entry):
    """The first line: which search it is.

    Attributes
    ----------
    key : str
        Identity of the evolution.
    name : str
        What a list of runs calls it.
    params, tags : dict
        What defines it, flat, and what it is found by.
    datasets : tuple of dict
        What it reads: name, digest, source, profile and context of each.
    prompts : bool
        Whether prompt templates are in use.
    origin : str
        Where its rules come from, see `PipelineConfig.origin_of_rules`; empty in journals that do not say.
    """

    kind: Literal["opened"] = "opened"
    version: Literal[1] = 1
    key: str
    name: str = ""
    params: dict[str, Any] = Field(default_factory=dict)
    tags: dict[str, str] = Field(default_factory=dict)
    datasets: tuple[dict[str, Any], ...] = ()
    prompts: bool = False
    origin: str = ""


class Started(Entry):
    """A process takes the search up.

    Attributes
    ----------
    provenance : dict
        Who or what that process is, by whatever names the caller has for it.
    """

    kind: Literal["started"] = "started"
    provenance: dict[str, str] = Field(default_factory=dict)


class Drafted(Entry):
    """What a generator gave for a request; from then on it is the answer, whatever it is worth."""

    kind: Literal["drafted"] = "drafted"
    request: WrittenRequest = Field(discriminator="kind")
    draft: Draft


class Unanswered(Entry):
    """A request that a generator has no answer to, now: it is made again by the next start.

    Attributes
    ----------
    draft : Draft or None
        What was tried, with its calls; None where nothing went out.
    """

    kind: Literal["unanswered"] = "unanswered"
    request: WrittenRequest = Field(discriminator="kind")
    draft: Draft | None = None
    reason: str


class Scored(Entry):
    """F_LF of a sample, or why it has none."""

    kind: Literal["scored"] = "scored"
    id: str
    score: LowScore


class Tried(Entry):
    """What solving training instances cost."""

    kind: Literal["tried"] = "tried"
    request: TrialRequest
    score: TrialScore


class Referred(Entry):
    """RPB's solves of the design instances, which those of rules are measured by."""

    kind: Literal["referred"] = "referred"
    reference: Reference


class HighScored(Entry):
    """F_HF of a sample with its solves, or why it has none."""

    kind: Literal["high_scored"] = "high_scored"
    id: str
    score: HighScore


class Settled(Entry):
    """A sample of which nothing more will become known."""

    kind: Literal["settled"] = "settled"
    sample: Sample


class Completed(Entry):
    """A generation with its numbers.

    Attributes
    ----------
    mean_f_hf : float or None
        Of all samples solved with so far.
    solve_cpu_s : float
        CPU seconds of all solves for F_HF so far.
    """

    kind: Literal["completed"] = "completed"
    summary: GenerationSummary
    spending: Spending
    mean_f_hf: float | None
    solved: int
    solve_cpu_s: float


class Ended(Entry):
    """The search is over, or a limit of its budget is reached; then a later start may go on.

    Attributes
    ----------
    best : Sample or None
        The rule it ended with.
    samples : int
        Samples it was to make in all; with a larger number it goes on.
    ended_by : str or None
        Which limit ended it, as a sentence; None at its own end.
    """

    kind: Literal["ended"] = "ended"
    best: Sample | None
    cost: SearchCost
    samples: int = 0
    ended_by: str | None = None


class Stopped(Entry):
    """The search was given up for now.

    Attributes
    ----------
    by_person : bool
        Whether a person interrupted it, rather than trouble.
    """

    kind: Literal["stopped"] = "stopped"
    reason: str
    by_person: bool = False


AnyEntry = (
    Opened
    | Started
    | Drafted
    | Unanswered
    | Scored
    | Tried
    | Referred
    | HighScored
    | Settled
    | Completed
    | Ended
    | Stopped
)

EntryType = TypeVar("EntryType", bound=Entry)

_ADAPTER: TypeAdapter[AnyEntry] = TypeAdapter(Annotated[AnyEntry, Field(discriminator="kind")])


def read_journal(store: Store, study: str, after: int = 0) -> Iterator[tuple[AnyEntry, int]]:
    """Yield the events of an evolution that come after a sequence number, each with its own.

    Raises
    ------
    JournalError
        If an event cannot be read.
    """
    for event in store.events(study, after):
        try:
            yield _ADAPTER.validate_python(event.body), event.seq
        except ValueError as error:
            raise JournalError(
                f"Event {event.seq} of the search {study} in {store.name} cannot be read "
                f"({describe(error).rstrip('.')}); it was written by another version of BiFE."
            ) from error


_open: WeakSet[Journal] = WeakSet()


class Journal:
    """The events of one evolution, open for writing: by one process at a time.

    Parameters
    ----------
    folder : Path
        The run's, for its files; made where it is missing.
    opened : Opened
        Which search it is.
    provenance : mapping, optional
        What `Started` says of this process.
    store : Store, optional
        Where the events are kept; by default a store in `folder`, which then holds this search alone.

    Attributes
    ----------
    folder : Path
        The run's.
    store : Store
    key : str
        Key of the study.

    Raises
    ------
    JournalError
        If the folder's own store holds another search, or an event cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> journal = Journal(folder, Opened(key="a"))
    >>> journal.add(Stopped(reason="Interrupted.")).kind
    'stopped'
    >>> [entry.kind for entry in Journal(folder, Opened(key="a")).entries]
    ['opened', 'stopped']
    """

    def __init__(
        self,
        folder: Path,
        opened: Opened,
        provenance: Mapping[str, str] | None = None,
        store: Store | None = None,
    ) -> None:
        self.folder, self.key = folder, opened.key
        self.store = store if store is not None else Store(folder)
        others = [] if store is not None else [row.key for row in self.store.studies() if row.key != self.key]
        if others:
            raise JournalError(
                f"{folder} holds another search (its key is {others[0]}, this one's {self.key}): the settings or the "
                "data differ. Give it a folder of its own, or the settings it was begun with."
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        self._provenance = dict(provenance or {})
        self._lock = Lock()
        self.store.open_study(self.key, "evolution", opened.name)
        self._entries: list[Entry] = [entry for entry, _ in read_journal(self.store, self.key)]
        self._before_s = self._entries[-1].elapsed_s if self._entries else 0.0
        self._began_s = time.monotonic()
        if not self._entries:
            self.add(opened)
        _open.add(self)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in order."""
        return tuple(self._entries)

    def end(self, samples: int) -> Ended | None:
        """Return how a search of so many samples came to its own end; None while it has not."""
        last = next((entry for entry in reversed(self._entries) if isinstance(entry, Ended)), None)
        return last if last is not None and last.ended_by is None and last.samples >= samples else None

    @property
    def elapsed_s(self) -> float:
        """Wall seconds the search has run, over all its starts; a kill loses those since the last entry."""
        return self._before_s + time.monotonic() - self._began_s

    def refresh(self) -> None:
        """Read what other processes have added; for the holder of the claim on the study."""
        with self._lock:
            new = [entry for entry, _ in read_journal(self.store, self.key, after=len(self._entries))]
            if new:
                self._entries += new
                self._before_s, self._began_s = new[-1].elapsed_s, time.monotonic()

    def start(self) -> Started:
        """Write that this process takes the search up."""
        return self.add(Started(provenance=self._provenance))

    def until_unix_s(self, hours: float | None) -> float | None:
        """Return when a search that may run so many wall-clock hours has done so, in seconds since 1970."""
        return None if hours is None else time.time() + _HOUR_S * hours - self.elapsed_s

    def add(self, entry: EntryType) -> EntryType:
        """Store an event and return it with its time.

        Raises
        ------
        StoreError
            If it cannot be stored.
        """
        with self._lock:
            timed = entry.model_copy(update={"at_unix_s": time.time(), "elapsed_s": self.elapsed_s})
            self.store.append(self.key, str(timed.model_dump()["kind"]), timed.model_dump(mode="json"))
            self._entries.append(timed)
        return timed


def open_journals() -> list[Journal]:
    """Return the journals of this process whose search is under way."""
    return [journal for journal in _open if not isinstance(journal.entries[-1], Ended | Stopped)]
