"""The events of a study, in the order they happened: rows of the store, only ever added.

A search draws from its seed and its answers alone, so they are enough to go on where a process ended, and for a
subscriber, such as a tracker, to learn what happened.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar, cast
from weakref import WeakSet

from pydantic import Field

from bife_core.base.errors import BifeError
from bife_core.base.values import describe
from bife_core.measure.context import Reference
from bife_core.measure.high import HighScore
from bife_core.measure.low import LowScore
from bife_core.search import GenerationSummary, Request, Sample, SearchCost
from bife_core.search.answers import Answered
from bife_core.search.generators import Spending
from bife_core.search.types import Entry
from bife_core.store import ClaimTimeoutError, Store, StudyRow


class JournalError(BifeError):
    """A journal cannot be read, or is that of another search."""


class Opened(Entry):
    """The first event: `params` define the search, `tags` find it, and `origin` says where its rules come from.

    `version` is `bife_core.run.study.identity.VERSION`; events of another one are not gone on with.
    """

    key: str
    version: int = 0
    name: str = ""
    params: dict[str, Any] = Field(default_factory=dict)
    tags: dict[str, str] = Field(default_factory=dict)
    origin: str = ""


class Started(Entry):
    """A process takes the search up; `provenance` is what the caller says of that process."""

    provenance: dict[str, str] = Field(default_factory=dict)


class Referred(Entry):
    """RPB's solves of the design instances, which those of rules are measured by."""

    reference: Reference


class Settled(Entry):
    """Nothing more will become known of samples: by id, what the search itself changed of what their answers say.

    That a rule chooses like another, say, no answer tells; what is not here follows from the answers.
    """

    changes: dict[str, dict[str, Any]]


class Completed(Entry):
    """A generation: of all samples with an F_HF so far count, mean F_HF and CPU seconds, and shares of the budget."""

    summary: GenerationSummary
    spending: Spending
    mean_f_hf: float | None
    solved: int
    solve_cpu_s: float
    budget_used: dict[str, float] = Field(default_factory=dict)


class Ended(Entry):
    """The search is over after so many `samples`, or by a limit of its budget; a later start may raise either."""

    best: Sample | None
    cost: SearchCost
    samples: int = 0
    ended_by: str | None = None


class Stopped(Entry):
    """The search was given up for now, by a person or because of trouble."""

    reason: str
    by_person: bool = False


class Samples(dict[str, Sample]):
    """The settled samples of a search by id, as its events say that are read one after the other."""

    def __init__(self) -> None:
        self._answered: dict[str, dict[str, Any]] = {}

    def read(self, entry: Entry) -> list[Sample]:
        """Take the next event, and return the samples that it settles."""
        if isinstance(entry, Answered) and entry.request.rule is not None:
            self._answered[entry.request.id] = entry.sample.model_dump(mode="json")
        changes = entry.changes if isinstance(entry, Settled) else {}
        new = [Sample(**self._answered.get(name, {}) | facts) for name, facts in changes.items()]
        self.update((sample.id, sample) for sample in new)
        return new

    def changes(self, samples: Iterable[Sample]) -> dict[str, dict[str, Any]]:
        """Return what differs of samples that are not settled yet from what their answers say."""
        new = {sample.id: sample.model_dump(mode="json") for sample in samples if sample.id not in self}
        answered = {name: self._answered.get(name, {}) for name in new}
        return {
            name: {field: value for field, value in facts.items() if value != answered[name].get(field)}
            for name, facts in new.items()
        }


EntryType = TypeVar("EntryType", bound=Entry)

_KINDS: Final = {event.kind: event for event in Entry.__subclasses__()}


def read_journal(store: Store, study: str, after: int = 0) -> Iterator[tuple[Entry, int]]:
    """Yield the events of a search that come after a sequence number, each with its own; see `JournalError`."""
    for event in store.events(study, after):
        try:
            yield _KINDS[event.kind].model_validate(event.body), event.seq
        except (KeyError, ValueError) as error:
            raise JournalError(
                f"Event {event.seq} of the search {study} in {store.name} cannot be read "
                f"({describe(error).rstrip('.')}); it was written by another version of BiFE."
            ) from error


def claim_on(study: str) -> str:
    """Return the name of the claim on a search, which a process that adds to its events must hold."""
    return f"study {study}"


_open: WeakSet[Journal] = WeakSet()


class Journal:
    """The events of one study (`entries`), open for writing by one process at a time, and its settled `samples`.

    Without a `store` they are in one of `folder`, which then holds this search alone. `provenance` is what `Started`
    says of this process.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> Journal(folder, Opened(key="a")).stop("Interrupted.")
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
        self.provenance = dict(provenance or {})
        self._lock = Lock()
        self.entries: list[Entry] = []
        self.samples = Samples()
        self._latest: dict[tuple[type[Entry], str], Entry] = {}
        self._before_s = 0.0
        self._began_s: float | None = None
        self.store.open_study(self.key, "search", opened.name)
        self.refresh()
        if not self.entries:
            with self.store.claim(claim_on(self.key)):
                if not self.refresh():
                    self.add(opened)
        _open.add(self)

    def of(self, kind: type[EntryType]) -> list[EntryType]:
        """Return the entries of a kind, in order."""
        return [entry for entry in self.entries if isinstance(entry, kind)]

    def find(self, kind: type[EntryType], subject: str = "") -> EntryType | None:
        """Return the latest entry of a kind about a subject, or None."""
        return cast("EntryType | None", self._latest.get((kind, subject)))

    def answer(self, request: Request) -> Answered | None:
        """Return what became of a request so far; a `JournalError` says that another one had its id."""
        entry = self.find(Answered, request.subject)
        if entry is not None and entry.request != request:
            raise JournalError(
                f"The journal in {self.folder} has an answer to another request {request.id} than this search makes: "
                "it was written by another version of BiFE. Move the folder away to have the search made anew."
            )
        return entry

    def answers(self, kind: str) -> dict[str, Answered]:
        """Return what became of all requests of a kind, by their ids."""
        latest = (entry for entry in list(self._latest.values()) if isinstance(entry, Answered))
        return {entry.request.id: entry for entry in latest if entry.request.kind == kind}

    @property
    def scored(self) -> dict[str, LowScore]:
        """The scores of rules on the recorded decisions, by id."""
        return {name: answer.low for name, answer in self.answers("sample").items() if answer.low}

    @property
    def solved(self) -> dict[str, HighScore]:
        """The scores of rules that were evaluated in the solver, by id."""
        return {name: answer.high for name, answer in self.answers("solve").items() if answer.high}

    @property
    def reference(self) -> Reference | None:
        """RPB's solves of the design instances, once there are some."""
        return None if (referred := self.find(Referred)) is None else referred.reference

    def settle(self, samples: Iterable[Sample]) -> None:
        """Store that nothing more will become known of samples, where that is new."""
        if changes := self.samples.changes(samples):
            self.add(Settled(changes=changes))

    def end(self, samples: int) -> Ended | None:
        """Return how a search of so many samples came to its own end; None while it has not."""
        last = self.find(Ended)
        return last if last is not None and last.ended_by is None and last.samples >= samples else None

    @property
    def elapsed_s(self) -> float:
        """Wall seconds the search has run, from each start to its stop; a kill loses those since the last entry."""
        began_s = self._began_s
        return self._before_s + (0.0 if began_s is None else time.monotonic() - began_s)

    @property
    def started(self) -> bool:
        """Whether this process has taken the search up, and not ended or stopped it since."""
        return self._began_s is not None

    def refresh(self) -> bool:
        """Read what other processes have added, and say whether they have; for the holder of the study's claim."""
        with self._lock:
            new = [entry for entry, _ in read_journal(self.store, self.key, after=len(self.entries))]
            if new:
                self._enter(*new)
                self._before_s, self._began_s = new[-1].elapsed_s, None
        return bool(new)

    def halt(self) -> None:
        """Stop the clock, as the end of the search or a stop does."""
        self._before_s, self._began_s = self.elapsed_s, None

    def start(self) -> None:
        """Store that this process takes the search up, unless it is `started`; the clock runs from then on."""
        if not self.started:
            self.add(Started(provenance=self.provenance))

    def add(self, entry: EntryType) -> EntryType:
        """Store an event and return it with its time."""
        with self._lock:
            timed = entry.model_copy(update={"at_unix_s": time.time(), "elapsed_s": self.elapsed_s})
            self.store.append(self.key, entry.kind, timed.model_dump(mode="json"))
            self._enter(timed)
            if isinstance(timed, Started | Ended | Stopped):
                self._before_s = timed.elapsed_s
                self._began_s = time.monotonic() if isinstance(timed, Started) else None
        return timed

    def _enter(self, *entries: Entry) -> None:
        self.entries += entries
        for entry in entries:
            self.samples.read(entry)
        self._latest |= {(type(entry), entry.subject): entry for entry in entries}

    def stop(self, reason: str, *, by_person: bool = False) -> None:
        """Store that the search stopped."""
        self.add(Stopped(reason=reason, by_person=by_person))


def stop_journals(reason: str) -> list[str]:
    """Write into all journals of this process whose search is under way that a person stops it; return their keys."""
    stopped = [journal for journal in _open if journal.started]
    for journal in stopped:
        journal.stop(reason, by_person=True)
    return [journal.key for journal in stopped]


def left_open(row: StudyRow) -> bool:
    """Whether the events of a study end without saying that its work ended or stopped."""
    if row.kind != "search":
        return row.last_kind == "running"
    return row.last > 0 and row.last_kind not in ("ended", "stopped")


def close_left(
    store: Store,
    folder: Path,
    reason: str,
    *,
    by_person: bool = False,
    provenance: Mapping[str, str] | None = None,
) -> bool:
    """Stop a search of the store that no process is at any more, and say whether that was needed.

    It is left alone unless the process that was at it last gave all of the `provenance`. That a person stopped it
    stands, whatever its threads wrote after, and whoever found it left before.
    """
    with suppress(ClaimTimeoutError), store.claim(claim_on(folder.name), timeout_s=0.0):
        entries = [entry for entry, _ in read_journal(store, folder.name)]
        marks = [entry for entry in entries if isinstance(entry, Started | Stopped)]
        last = next((mark.provenance for mark in reversed(marks) if isinstance(mark, Started)), {})
        stopped = marks[-1] if marks and isinstance(marks[-1], Stopped) else Stopped(reason="")
        over = not entries or isinstance(entries[-1], Ended | Stopped)
        if stopped.by_person:
            reason, by_person = stopped.reason, True
        elif by_person and provenance and entries[-1:] == [stopped]:
            over = False
        if not over and (provenance or {}).items() <= last.items():
            Journal(folder, Opened(key=folder.name), store=store).stop(reason, by_person=by_person)
            return True
    return False
