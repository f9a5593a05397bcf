"""The tables of the store, and how a database is opened, checked and written to."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Column, Connection, Row, Select, Table, insert, select
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.types import TypeDecorator, TypeEngine

from bife_core.base.errors import StoreError
from bife_core.base.files import make_private
from bife_core.base.wording import storable
from bife_core.store.schema import SCHEMA, file_of

_BUSY_S: Final = 60.0
_tables = sa.MetaData()


def _table(table: str, keys: int, /, **columns: TypeEngine[Any]) -> Table:
    listed = [
        Column(column, kind, primary_key=number < keys, nullable=False, autoincrement=False)
        for number, (column, kind) in enumerate(columns.items())
    ]
    return Table(table, _tables, *listed)


class _Text(TypeDecorator[str]):
    """Text of any length; characters that databases cannot hold are replaced."""

    impl, cache_ok = sa.Text, True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        return value if value is None else storable(value)


_TEXT, _BODY, _NUMBER, _TIME = _Text(), sa.Text(), sa.Integer(), sa.Float()
meta = _table("meta", 1, name=_TEXT, value=_TEXT)
studies = _table("studies", 1, key=_TEXT, kind=_TEXT, name=_TEXT, created_unix_s=_TIME)
events = _table("events", 2, study=_TEXT, seq=_NUMBER, kind=_TEXT, at_unix_s=_TIME, body=_BODY)
calls = _table("calls", 3, study=_TEXT, key=_TEXT, number=_NUMBER, body=_BODY)
solves = _table("solves", 1, key=_TEXT, body=_BODY)
objectives = _table("objectives", 1, digest=_TEXT, best=_TIME)
cursors = _table("cursors", 2, subscriber=_TEXT, study=_TEXT, seq=_NUMBER, note=_TEXT)
ledger = _table("ledger", 3, group=_TEXT, purpose=_TEXT, by=_TEXT, number=_NUMBER)
_process: dict[str, TypeEngine[Any]] = {"pid": sa.BigInteger(), "began_unix_s": _TIME, "until_unix_s": _TIME}
claims = _table("claims", 1, name=_TEXT, holder=_TEXT, machine=_TEXT, **_process)


class Database:
    """A database with today's tables: SQLite, or another that SQLAlchemy opens; `file` is None on a server."""

    def __init__(self, where: Path | str) -> None:
        self.file = file_of(where)
        try:
            if self.file is None:
                url = sa.make_url(str(where))
            else:
                self.file = self.file.absolute()
                make_private(self.file.parent)
                os.close(os.open(self.file, os.O_CREAT, 0o600))  # the mode of SQLite's files beside it too
                url = sa.URL.create("sqlite", database=str(self.file))
            self.engine = sa.create_engine(url, pool_pre_ping=self.file is None)
        except OSError as error:
            raise StoreError(f"The store's folder cannot be written to ({error}).") from error
        except (ArgumentError, NoSuchModuleError, ImportError) as error:
            raise StoreError(
                "The address of a store was expected to be a file or a database URL such as "
                f"postgresql+psycopg2://user@host/bife ({error}); PostgreSQL needs the extra bife-branching[postgres]."
            ) from error
        self.name = str(self.file or self.engine.url.render_as_string(hide_password=True))
        if self.engine.dialect.name == "sqlite":
            sa.event.listen(self.engine, "connect", _connected)
            sa.event.listen(self.engine, "begin", _begun)
        try:
            with self.writing(self.alone) as connection:
                self._make(connection)
        except StoreError:
            self.engine.dispose()
            raise

    def _make(self, connection: Connection) -> None:
        meta.create(connection, checkfirst=True)
        schema = connection.execute(select(meta.c.value).where(meta.c.name == "schema")).scalar()
        if schema is None:
            connection.execute(insert(meta).values(name="schema", value=SCHEMA))
        elif schema != SCHEMA:
            raise StoreError(
                f"The store {self.name} has schema {schema} and this version of BiFE reads schema {SCHEMA}; use the "
                "version that wrote it, or set BIFE_HOME to a new folder."
            )
        _tables.create_all(connection)

    @contextmanager
    def writing(self, first: Callable[[Connection], None] | None = None) -> Iterator[Connection]:
        """Yield a connection of one transaction, in which `first` is called at the beginning."""
        with self._in_a_sentence("written to"), self.engine.begin() as connection:
            if first is not None:
                first(connection)
            yield connection

    def rows(self, query: Select[Any]) -> Sequence[Row[Any]]:
        """Return the rows of a query, without waiting for writers."""
        with self._in_a_sentence("read"), self.engine.connect() as connection:
            return connection.execution_options(reads=True).execute(query).all()

    def alone(self, connection: Connection) -> None:
        """Make a transaction wait for others that call this, as all writers of SQLite do."""
        if self.engine.dialect.name == "postgresql":
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7226)")

    def add(self, table: Table, number: str, first: Callable[[Connection], None], **values: Any) -> int:
        """Insert a row with the next `number` among the rows that have the same other keys; return that."""
        keys = [column for column in table.primary_key if column.name != number]
        same = sa.and_(*(column == values[column.name] for column in keys))
        while True:
            try:
                with self.writing(first) as connection:
                    highest = connection.execute(select(sa.func.max(table.c[number])).where(same)).scalar()
                    row = {number: (highest or 0) + 1, **values}
                    connection.execute(insert(table).values(row))
                    return int(row[number])
            except IntegrityError:  # another process took the number, which can happen on a server
                continue

    @contextmanager
    def _in_a_sentence(self, done: str) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise StoreError(
                f"The store {self.name} cannot be {done} ({reason}); check it and run the same command again."
            ) from error


def _connected(connection: Any, _: Any) -> None:
    """Make SQLite's commits durable, its writers wait for one another, and its readers for none."""
    connection.isolation_level = None  # `_begun` begins transactions
    connection.execute(f"PRAGMA busy_timeout={int(_BUSY_S * 1000)}")
    connection.execute("PRAGMA synchronous=FULL")
    deadline = time.monotonic() + _BUSY_S
    while True:  # SQLite refuses the mode to all but one of the programs that open a new file
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _begun(connection: Connection) -> None:
    reads = connection.get_execution_options().get("reads")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
