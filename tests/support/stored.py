"""Accounts, calls and events in a store of a folder's own."""

from urllib.parse import quote

from sqlalchemy import delete, func, select

from bife_core.run.study.journal import left_open, read_journal
from bife_core.search.generators import Account
from bife_core.store import Store
from bife_core.store.database import calls, events, solves

STUDY = "a-study"


def account_at(folder, *arguments, **named):
    """Return an account whose calls are in the store of a folder."""
    return Account(Store(folder), STUDY, *arguments, **named)


def record(directory, call):
    """Write a call as a file, as recorded answers are kept."""
    directory.mkdir(parents=True, exist_ok=True)
    name = f"{quote(call.key, safe='')}.{call.number:03d}.json"
    (directory / name).write_text(call.model_dump_json(), encoding="utf-8")


def entries_of(folder, key=None):
    """Return the events of the search in a folder's own store, or of the one with that key."""
    store = Store(folder)
    return [entry for row in store.studies() for entry, _ in read_journal(store, key or row.key)]


def is_open(store, study):
    """Whether the events of a search say neither that it ended nor that it stopped."""
    return any(left_open(row) for row in store.studies() if row.key == study)


def forget_events(folder, share):
    """Leave a share of the events of the search in a folder's store, as a process that was killed then would have."""
    store = Store(folder)
    last = max(row.last for row in store.studies())
    with store._database.writing() as connection:
        connection.execute(delete(events).where(events.c.seq > int(share * last)))


def counts(folder):
    """Return how many rows the tables of a folder's store have."""
    tables = (events, calls, solves)
    store = Store(folder)._database
    return {table.name: store.rows(select(func.count()).select_from(table))[0][0] for table in tables}
