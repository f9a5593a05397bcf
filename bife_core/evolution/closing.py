"""Searches no process is at any more and whose journal does not say so: what is known of them is written down."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, get_args

from bife_core.errors import GeneratorError
from bife_core.evolution.journal import (
    JOURNAL,
    Drafted,
    Ended,
    Entry,
    Journal,
    Opened,
    Settled,
    Started,
    Stopped,
    Unanswered,
    open_journals,
    read_journal,
)
from bife_core.generators import Draft
from bife_core.generators.calls import Call, CallStore
from bife_core.search import ReflectionRequest, Sample, SampleRequest, WrittenRequest
from bife_core.search.types import Reflection

_REFLECTIONS: Final = frozenset(get_args(Reflection))
_CLOSED: Final = tuple(
    f'"kind":"{entry.model_fields["kind"].default}"'.encode() for entry in (Ended, Stopped)
)
_NOT_READ: Final = "The process ended before it read the answer; the next start of the search does."
_TAIL: Final = 1 << 12


def left_open(folder: Path, instead_of: str = "") -> bool:
    """Whether the journal in a folder ends without saying that its search ended or stopped.

    Of a journal only the last line is read: a home may hold thousands. One that stopped for the reason `instead_of`,
    which somebody wrote who knew of no better, counts as open.
    """
    path = folder / JOURNAL
    if not path.is_file():
        return False
    last = _last_line(path)
    if instead_of and json.dumps(instead_of, ensure_ascii=False).encode() in last:
        return True
    return not any(kind in last for kind in _CLOSED)


def _last_line(path: Path) -> bytes:
    """Return the last line of a file that is whole, or nothing."""
    with path.open("rb") as file:
        size, tail = file.seek(0, os.SEEK_END), _TAIL
        while True:
            file.seek(max(0, size - tail))
            # After the last line break is nothing, or half a line that a kill has left.
            lines = file.read().rpartition(b"\n")[0].rstrip(b"\n")
            _, line_break, last = lines.rpartition(b"\n")
            if line_break or tail >= size:
                return last
            tail *= 2


def close_left(
    folder: Path,
    reason: str,
    *,
    by_person: bool = False,
    instead_of: str = "",
    whose: Callable[[Mapping[str, str]], bool] = lambda _: True,
) -> bool:
    """Write into a journal which calls went out that it does not know of yet, and that the search stopped.

    It is for whoever holds the evolution's lock. The next start of the search finds the same answers on disk.

    Parameters
    ----------
    folder : Path
        The run's, with its journal.
    reason : str
        Why it stopped, as a sentence.
    by_person : bool
        Whether a person stopped it, rather than trouble.
    instead_of : str
        Another reason the journal may have been closed with before, by somebody who knew of no better.
    whose : callable
        Given the provenance of the process that was at it last: whether the reason is that one's; others are left.

    Returns
    -------
    bool
        Whether it was written.

    Raises
    ------
    JournalError
        If the journal cannot be read.
    """
    entries = [entry for entry, _ in read_journal(folder)]
    if not entries or not isinstance(entries[0], Opened):
        return False
    last = entries[-1]
    if isinstance(last, Ended) or (isinstance(last, Stopped) and last.reason != instead_of):
        return False
    began = next((entry.provenance for entry in reversed(entries) if isinstance(entry, Started)), {})
    if not whose(began):
        return False
    _stop(Journal(folder, entries[0]), reason, by_person)
    return True


def stop_journals(reason: str) -> None:
    """Write into all journals of this process whose search is under way that a person stops it."""
    for journal in open_journals():
        _stop(journal, reason, by_person=True)


def _stop(journal: Journal, reason: str, by_person: bool) -> None:
    for entry in _untold(journal.folder, journal.entries):
        journal.add(entry)
    journal.add(Stopped(reason=reason, by_person=by_person))


def _untold(folder: Path, entries: Sequence[Entry]) -> list[Unanswered]:
    """Return an entry for each request with calls on disk that the journal does not tell of."""
    told: defaultdict[str, int] = defaultdict(int)
    for entry in entries:
        if isinstance(entry, Drafted | Unanswered) and entry.draft is not None:
            told[entry.request.id] = max(told[entry.request.id], len(entry.draft.attempts))
    samples = {entry.sample.id: entry.sample for entry in entries if isinstance(entry, Settled)}
    try:
        calls = CallStore(folder / "calls").calls()
    except GeneratorError:
        return []  # the next start of the search says which file is no call
    by_key: defaultdict[str, list[Call]] = defaultdict(list)
    for call in calls:
        by_key[call.key].append(call)
    return [
        Unanswered(request=_request(known[-1], samples), draft=_draft(known), reason=_NOT_READ)
        for key, known in by_key.items()
        if len(known) > told[key] and known[-1].operator
    ]


def _request(call: Call, samples: dict[str, Sample]) -> WrittenRequest:
    kind = ReflectionRequest if call.operator in _REFLECTIONS else SampleRequest
    asked = {"id": call.key, "generation": call.generation, "operator": call.operator, "seed": 0}
    parents = tuple(samples[name] for name in call.parents if name in samples)
    return kind.model_validate({**asked, "parents": parents})


def _draft(calls: list[Call]) -> Draft:
    last = calls[-1]
    return Draft(
        key=last.key,
        generator="openai",
        model=last.model,
        messages=last.messages,
        attempts=tuple(call.attempt(recorded=False) for call in calls),
        failure=_NOT_READ,
    )
