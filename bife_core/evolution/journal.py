"""The journal of an evolution: everything it found out, a line each, in the order it was found.

A search draws nothing but from its seed and its answers, so the journal is enough to go on where a process ended, and
to tell anybody else, MLflow for one, what happened. It lies in the run's folder beside the calls to a model API, which
are paid for and so have files of their own. Lines are only ever added; half a line at the end is what a killed process
leaves, and counts for nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
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
from bife_core.values import Value, describe

JOURNAL: Final = "journal.jsonl"
"""Name of the journal in a run's folder."""

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
    ended_by : str or None
        Which limit ended it, as a sentence; None at its own end.
    """

    kind: Literal["ended"] = "ended"
    best: Sample | None
    cost: SearchCost
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


def read_journal(folder: Path, start: int = 0) -> Iterator[tuple[AnyEntry, int]]:
    """Yield the entries of a run's journal from a place on, each with the place after it.

    Parameters
    ----------
    folder : Path
        The run's; one without a journal yields nothing.
    start : int
        Place in the file, in bytes, as it was yielded before.

    Raises
    ------
    JournalError
        If a line other than a broken last one is no entry.
    """
    path = folder / JOURNAL
    if not path.is_file():
        return
    with path.open("rb") as file:
        file.seek(start)
        place = start
        for line in file:
            if not line.endswith(b"\n"):
                return  # a process that was killed, or one that is writing it now
            place += len(line)
            try:
                # By way of Python's own reader: a model may answer with half a surrogate pair.
                yield _ADAPTER.validate_python(json.loads(line)), place
            except ValueError as error:
                raise JournalError(
                    f"{path} has a line that is no entry of a journal, {place - len(line)} bytes from its start "
                    f"({describe(error).rstrip('.')}); move the folder away to have the search made anew."
                ) from error


_open: WeakSet[Journal] = WeakSet()


class Journal:
    """The journal of one run, open for writing: by one process at a time.

    Parameters
    ----------
    folder : Path
        The run's; made where it is missing.
    opened : Opened
        Which search it is.
    provenance : mapping, optional
        What `Started` says of this process.

    Attributes
    ----------
    folder : Path
        The run's.

    Raises
    ------
    JournalError
        If the folder holds the journal of another search, or one that cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> journal = Journal(folder, Opened(key="a"))
    >>> journal.add(Stopped(reason="Tea.")).kind
    'stopped'
    >>> [entry.kind for entry in Journal(folder, Opened(key="a")).entries]
    ['opened', 'stopped']
    """

    def __init__(self, folder: Path, opened: Opened, provenance: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._provenance = dict(provenance or {})
        self._path = folder / JOURNAL
        self._lock = Lock()
        self._entries: list[Entry] = []
        whole = 0
        for entry, place in read_journal(folder):
            self._entries.append(entry)
            whole = place
        if self._path.is_file() and self._path.stat().st_size > whole:
            os.truncate(self._path, whole)
        self._before_s = self._entries[-1].elapsed_s if self._entries else 0.0
        self._began_s = time.monotonic()
        first = self._entries[0] if self._entries else self.add(opened)
        if not isinstance(first, Opened) or first.key != opened.key:
            found = first.key if isinstance(first, Opened) else "none"
            raise JournalError(
                f"{folder} holds another search (its key is {found}, this one's {opened.key}): the settings or the "
                "data differ. Give it a folder of its own, or the settings it was begun with."
            )

        _open.add(self)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in order."""
        return tuple(self._entries)

    @property
    def end(self) -> Ended | None:
        """How the search came to its own end; None while it has not."""
        ends = (entry for entry in reversed(self._entries) if isinstance(entry, Ended))
        last = next(ends, None)
        return last if last is not None and last.ended_by is None else None

    @property
    def elapsed_s(self) -> float:
        """Wall seconds the search has run, over all its starts; a kill loses those since the last entry."""
        return self._before_s + time.monotonic() - self._began_s

    def start(self) -> Started:
        """Write that this process takes the search up."""
        return self.add(Started(provenance=self._provenance))

    def until_unix_s(self, hours: float | None) -> float | None:
        """Return when a search that may run so many wall-clock hours has done so, in seconds since 1970."""
        return None if hours is None else time.time() + _HOUR_S * hours - self.elapsed_s

    def add(self, entry: EntryType) -> EntryType:
        """Write an entry and return it with its time.

        Raises
        ------
        OSError
            If the disk does not take it.
        """
        with self._lock:
            timed = entry.model_copy(update={"at_unix_s": time.time(), "elapsed_s": self.elapsed_s})
            text = json.dumps(timed.model_dump(mode="json"), separators=(",", ":"))
            self.folder.mkdir(parents=True, exist_ok=True)
            whole = self._path.stat().st_size if self._path.is_file() else 0
            try:
                with self._path.open("ab") as file:
                    file.write(text.encode("ascii") + b"\n")
            except OSError:
                # Half a line must not become part of the next one; closing the file has tried to write the rest.
                with suppress(OSError):
                    os.truncate(self._path, whole)
                raise
            self._entries.append(timed)
        return timed


def open_journals() -> list[Journal]:
    """Return the journals of this process whose search is under way."""
    return [journal for journal in _open if not isinstance(journal.entries[-1], Ended | Stopped)]
