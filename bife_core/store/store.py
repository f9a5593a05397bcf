"""The store: streams of events by study, calls, solves, cursors of subscribers, and what instances served."""

from __future__ import annotations

import json
import reprlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from bife_core.base.arguments import checked
from bife_core.base.errors import StoreError
from bife_core.base.values import Value
from bife_core.instances.base import SPLITS, Split
from bife_core.store.claims import Claims
from bife_core.store.database import Database, calls, cursors, events, ledger, objectives, solves, studies

_MANY: Final = 10_000


class StudyRow(Value):
    """A study, which is a stream of events; `kind` is a search, a collection, a tuning or an evaluation."""

    key: str
    kind: str
    name: str
    created_unix_s: float
    last: int = 0
    last_kind: str = ""


class StoredEvent(Value):
    """An event of a study; `seq` numbers its stream from 1."""

    study: str
    seq: int
    kind: str
    at_unix_s: float
    body: dict[str, Any]


class Served(NamedTuple):
    """What a group of instances has served: a split of a search, and comparisons in order."""

    split: Split
    comparisons: tuple[str, ...] = ()


class Store:
    """The database that all runs of a user or team share, safe for threads and processes; writes are durable.

    Parameters
    ----------
    where : Path or str
        A folder (then its ``bife.db``), a file ending in ``.db``, or a database URL; `StoreError` says why it cannot
        be opened.

    Attributes
    ----------
    name : str
        File or address, without a password.
    folder : Path or None
        Folder of the database; None on a server.
    claim : callable
        Context in which no other thread or process holds a name, ``claim(name)``; it waits while one does.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> store.append("a", "started", {"by": "me"})
    1
    >>> [event.kind for event in store.events("a")]
    ['started']
    """

    @checked
    def __init__(self, where: Path | str) -> None:
        self._database = Database(where)
        self.claims = Claims(self._database)
        self.claim = self.claims.claim
        self.name, file = self._database.name, self._database.file
        self.folder = file.parent if file is not None else None

    def close(self) -> None:
        """Close all connections; the next use opens them again."""
        self._database.engine.dispose()

    def require_claims(self, study: str) -> None:
        """Raise `ClaimLostError` if a claim on a study is lost."""
        with self._database.writing(self._fence(study)):
            pass

    def open_study(self, key: str, kind: str, name: str) -> None:
        """Add a study unless it exists."""
        with self._database.writing() as connection:
            if connection.execute(select(studies.c.key).where(studies.c.key == key)).first() is None:
                row = {"key": key, "kind": kind, "name": name, "created_unix_s": time.time()}
                connection.execute(insert(studies).values(row))

    def studies(self, kind: str | None = None) -> list[StudyRow]:
        """Return all studies, or those of a kind, oldest first."""
        stream = events.c.study == studies.c.key
        last = select(func.max(events.c.seq)).where(stream).scalar_subquery()
        newest = select(events.c.kind).where(stream).order_by(events.c.seq.desc()).limit(1).scalar_subquery()
        ends = func.coalesce(last, 0).label("last"), func.coalesce(newest, "").label("last_kind")
        query = select(studies, *ends).order_by(studies.c.created_unix_s, studies.c.key)
        if kind is not None:
            query = query.where(studies.c.kind == kind)
        return [StudyRow(**row._mapping) for row in self._database.rows(query)]

    def append(self, study: str, kind: str, body: Mapping[str, Any]) -> int:
        """Append an event with a JSON body to a study's stream; return its `seq`."""
        row = {"study": study, "kind": kind, "at_unix_s": time.time(), "body": _json(body)}
        return self._database.add(events, "seq", self._fence(study), **row)

    def events(self, study: str | None, after: int = 0, kinds: Collection[str] = ()) -> Iterator[StoredEvent]:
        """Yield the events of a study, or of all, with a `seq` above `after`, of all or some kinds."""
        query = select(events).where(events.c.seq > after).order_by(events.c.study, events.c.seq)
        if study is not None:
            query = query.where(events.c.study == study)
        if kinds:
            query = query.where(events.c.kind.in_(kinds))
        rows = self._database.rows(query)
        return (StoredEvent(**dict(row._mapping) | {"body": self._body(row)}) for row in rows)

    def begin_call(self, study: str, key: str, body: Mapping[str, Any]) -> int:
        """Store a call before it is sent; return its number among those for its key."""
        return self._database.add(calls, "number", self._fence(study), study=study, key=key, body=_json(body))

    def finish_call(self, study: str, key: str, number: int, body: Mapping[str, Any]) -> None:
        """Store the result of a call before it is used."""
        of_call = (calls.c.study == study) & (calls.c.key == key) & (calls.c.number == number)
        with self._database.writing() as connection:
            connection.execute(update(calls).where(of_call).values(body=_json(body)))

    def calls(
        self, study: str | None = None, key: str | None = None
    ) -> list[tuple[str, int, dict[str, Any]]]:
        """Return key, number and body of the calls of a study or of all, for one key or all."""
        query = select(calls).order_by(calls.c.key, calls.c.number, calls.c.study)
        if study is not None:
            query = query.where(calls.c.study == study)
        if key is not None:
            query = query.where(calls.c.key == key)
        return [(row.key, row.number, self._body(row)) for row in self._database.rows(query)]

    def recent_calls(self, since_unix_s: float) -> list[dict[str, Any]]:
        """Return the bodies of the calls of the studies that have an event since a Unix time."""
        recent = select(events.c.study).where(events.c.at_unix_s >= since_unix_s)
        rows = self._database.rows(select(calls.c.body).where(calls.c.study.in_(recent)))
        return [self._body(row) for row in rows]

    def get_solve(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the stored solves by their keys."""
        parts = (select(solves).where(solves.c.key.in_(part)) for part in _parts(keys))
        return {row.key: self._body(row) for part in parts for row in self._database.rows(part)}

    def put_solve(self, key: str, body: Mapping[str, Any]) -> None:
        """Store a solve unless its key is stored."""
        with suppress(IntegrityError), self._database.writing() as connection:
            connection.execute(insert(solves).values(key=key, body=_json(body)))

    def improve_objective(self, digest: str, objective: float, *, maximise: bool) -> None:
        """Store the objective of an instance unless as good a one is stored."""
        of_instance = objectives.c.digest == digest
        with self._database.writing(self._database.alone) as connection:
            best = connection.execute(select(objectives.c.best).where(of_instance)).scalar()
            if best is None:
                connection.execute(insert(objectives).values(digest=digest, best=objective))
            elif objective != best and (objective > best) == maximise:
                connection.execute(update(objectives).where(of_instance).values(best=objective))

    def best_objectives(self, digests: Iterable[str]) -> dict[str, float]:
        """Return the best objectives of instances, by their digests, over all stored solves."""
        parts = (select(objectives).where(objectives.c.digest.in_(part)) for part in _parts(digests))
        return {row.digest: row.best for part in parts for row in self._database.rows(part)}

    def serve(self, groups: Collection[str], purpose: str, by: str = "") -> int:
        """Record a use of groups of instances before it happens; return its number, the highest of the groups, from 1.

        `purpose` is a split; for ``test``, `by` names the comparison of a rule, which counts once.
        """
        with self._database.writing(self._database.alone) as connection:
            uses = select(ledger).where(ledger.c.purpose == purpose)
            parts = (uses.where(ledger.c.group.in_(part)) for part in _parts(groups))
            rows = [row for part in parts for row in connection.execute(part)]
            numbers = {row.group: row.number for row in rows if row.by == by}
            earlier = Counter(row.group for row in rows)
            new = {group: 1 + earlier[group] for group in sorted({*groups} - numbers.keys())}
            if new:
                added = [{"group": g, "purpose": purpose, "by": by, "number": n} for g, n in new.items()]
                connection.execute(insert(ledger), added)
        return max((numbers | new).values(), default=0)

    def served(self, groups: Collection[str] | None = None) -> dict[str, Served]:
        """Return what groups of instances, or all, have served."""
        query = select(ledger).order_by(ledger.c.group, ledger.c.purpose, ledger.c.number)
        parts = [query]
        if groups is not None:
            parts = [query.where(ledger.c.group.in_(part)) for part in _parts(groups)]
        rows, served = (row for part in parts for row in self._database.rows(part)), dict[str, Served]()
        for group, of_group in groupby(rows, lambda row: row.group):
            uses = list(of_group)
            split = min((row.purpose for row in uses), key=SPLITS.index)
            served[group] = Served(split, tuple(row.by for row in uses if row.by))
        return served

    def cursor(self, subscriber: str, study: str) -> tuple[int, str] | None:
        """Return the `seq` of the last event of a study that a subscriber has processed, if any, and its note."""
        query = select(cursors).where(cursors.c.subscriber == subscriber, cursors.c.study == study)
        return next(((int(row.seq), str(row.note)) for row in self._database.rows(query)), None)

    def set_cursor(self, subscriber: str, study: str, seq: int, note: str = "") -> None:
        """Store the last event that a subscriber has processed, with a note."""
        of_cursor = (cursors.c.subscriber == subscriber) & (cursors.c.study == study)
        row = {"subscriber": subscriber, "study": study, "seq": seq, "note": note}
        with self._database.writing(self._fence(study)) as connection:
            if not connection.execute(update(cursors).where(of_cursor).values(row)).rowcount:
                connection.execute(insert(cursors).values(row))

    def _body(self, row: Row[Any]) -> dict[str, Any]:
        with suppress(ValueError, RecursionError):
            if isinstance(body := json.loads(row.body), dict):
                return body
        content = reprlib.repr(row.body)
        raise StoreError(f"The store {self.name} holds {content} where JSON was expected; restore a backup.")

    def _fence(self, study: str) -> Callable[[Connection], None]:
        return partial(self.claims.fence, names=self.claims.of(study))


def _parts(names: Iterable[str]) -> Iterator[list[str]]:
    """Yield names in parts that a statement can take."""
    listed = list(names)
    return (listed[at : at + _MANY] for at in range(0, len(listed), _MANY))


def _json(body: Mapping[str, Any]) -> str:
    # ASCII: an answer may have half a surrogate pair, which a database's text cannot hold.
    return json.dumps(body, separators=(",", ":"))
