"""Searches no process is at any more and whose journal does not say so: what is known of them is written down."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bife_core.generators import Draft
from bife_core.generators.account import Account, Call
from bife_core.search import ReflectionRequest, Sample, SampleRequest, WrittenRequest
from bife_core.store import Store, StudyRow
from bife_core.study.journal import (
    Drafted,
    Ended,
    Journal,
    Opened,
    Settled,
    Started,
    Stopped,
    Unanswered,
    open_journals,
    read_journal,
)

_CLOSED: Final = frozenset(str(entry.model_fields["kind"].default) for entry in (Ended, Stopped))
_NOT_READ: Final = "The process ended before it read the answer; the next start of the search does."


def left_open(store: Store, row: StudyRow, instead_of: str = "") -> bool:
    """Whether the events of an evolution end without saying that its search ended or stopped.

    One that stopped for the reason `instead_of`, which was given without knowledge of the real one, counts as open.
    """
    if row.kind != "evolution" or not row.last:
        return False
    if row.last_kind == Stopped.model_fields["kind"].default and instead_of:
        return any(event.body.get("reason") == instead_of for event in store.events(row.key, row.last - 1))
    return row.last_kind not in _CLOSED


def close_left(
    store: Store,
    folder: Path,
    reason: str,
    *,
    by_person: bool = False,
    instead_of: str = "",
    whose: Callable[[Mapping[str, str]], bool] = lambda _: True,
) -> bool:
    """Write into a journal which calls went out that it does not know of yet, and that the search stopped.

    The caller holds the study's claim. The next start of the search finds the same answers on disk.

    Parameters
    ----------
    store : Store
        Where its events are.
    folder : Path
        The run's, named by its key.
    reason : str
        Why it stopped, as a sentence.
    by_person : bool
        Whether a person stopped it, rather than trouble.
    instead_of : str
        Another reason the journal may have been closed with before, where no better one was known.
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
    entries = [entry for entry, _ in read_journal(store, folder.name)]
    if not entries or not isinstance(entries[0], Opened):
        return False
    last = entries[-1]
    if isinstance(last, Ended) or (isinstance(last, Stopped) and last.reason != instead_of):
        return False
    began = next((entry.provenance for entry in reversed(entries) if isinstance(entry, Started)), {})
    if not whose(began):
        return False
    _stop(Journal(folder, entries[0], store=store), reason, by_person)
    return True


def stop_journals(reason: str) -> None:
    """Write into all journals of this process whose search is under way that a person stops it."""
    for journal in open_journals():
        _stop(journal, reason, by_person=True)


def _stop(journal: Journal, reason: str, by_person: bool) -> None:
    for entry in _unreported(journal):
        journal.add(entry)
    journal.add(Stopped(reason=reason, by_person=by_person))


def _unreported(journal: Journal) -> list[Unanswered]:
    """Return an event for each request with calls in the store that the events do not report."""
    entries = journal.entries
    reported: defaultdict[str, int] = defaultdict(int)
    for entry in entries:
        if isinstance(entry, Drafted | Unanswered) and entry.draft is not None:
            reported[entry.request.id] = max(reported[entry.request.id], len(entry.draft.attempts))
    samples = {entry.sample.id: entry.sample for entry in entries if isinstance(entry, Settled)}
    calls = Account(journal.store, journal.key).calls()
    by_key: defaultdict[str, list[Call]] = defaultdict(list)
    for call in calls:
        by_key[call.key].append(call)
    return [
        Unanswered(request=_request(known[-1], samples), draft=_draft(known), reason=_NOT_READ)
        for key, known in by_key.items()
        if len(known) > reported[key] and known[-1].operator
    ]


def _request(call: Call, samples: dict[str, Sample]) -> WrittenRequest:
    kind = ReflectionRequest if call.kind == "reflection" else SampleRequest
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
