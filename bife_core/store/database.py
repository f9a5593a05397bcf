"""The tables of the store, and how a database is opened, checked and written to."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    insert,
    make_url,
    select,
)
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from bife_core.errors import BifeError

SCHEMA: Final = "1"
"""Raise this when tables change: a store of another schema is refused."""

DATABASE: Final = "bife.db"
"""Name of the database in a folder."""

_BUSY_S: Final = 60.0
_tables = MetaData()

meta = Table(
    "meta", _tables, Column("name", String(64), primary_key=True), Column("value", Text, nullable=False)
)
studies = Table(
    "studies",
    _tables,
    Column("key", String(128), primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("name", Text, nullable=False),
    Column("created_unix_s", Float, nullable=False),
)
events = Table(
    "events",
    _tables,
    Column("study", String(128), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("at_unix_s", Float, nullable=False),
    Column("body", Text, nullable=False),
)
calls = Table(
    "calls",
    _tables,
    Column("study", String(128), primary_key=True),
    Column("key", String(128), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("body", Text, nullable=False),
)
solves = Table(
    "solves",
    _tables,
    Column("key", String(128), primary_key=True),
    Column("body", Text, nullable=False),
    Column("repeats", Integer, nullable=False),
)
uses = Table(
    "uses",
    _tables,
    Column("test_set", String(128), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("evaluation", String(128), nullable=False),
    UniqueConstraint("test_set", "evaluation"),
)
cursors = Table(
    "cursors",
    _tables,
    Column("subscriber", String(512), primary_key=True),
    Column("study", String(128), primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("note", Text, nullable=False),
)
claims = Table(
    "claims",
    _tables,
    Column("name", String(256), primary_key=True),
    Column("holder", String(64), nullable=False),
    Column("machine", String(256), nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("began_unix_s", Float, nullable=False),
    Column("until_unix_s", Float, nullable=False),
)


class StoreError(BifeError):
    """The store cannot be opened, read or written to."""


class Database:
    """A database of BiFE's tables: SQLite in a file, or any other that SQLAlchemy opens.

    Parameters
    ----------
    where : Path or str
        A file or folder (then its ``bife.db``), or a URL such as ``postgresql+psycopg2://user@host/bife``.

    Raises
    ------
    StoreError
        If it cannot be opened, or was written by another version of BiFE.
    """

    def __init__(self, where: Path | str) -> None:
        text = str(where)
        self.file: Path | None = None
        if "://" not in text:
            path = Path(text).expanduser().absolute()
            self.file = path if path.suffix == ".db" else path / DATABASE
            text = f"sqlite:///{self.file}"
        self.engine = self._open(text)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection whose statements are committed together, or not at all."""
        with self._in_a_sentence("written to"), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection that reads; it waits for no writer."""
        with self._in_a_sentence("read"), self.engine.connect() as connection:
            yield connection.execution_options(reads=True)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @property
    def name(self) -> str:
        """File or address, without a password."""
        return (
            str(self.file) if self.file is not None else self.engine.url.render_as_string(hide_password=True)
        )

    def _open(self, url: str) -> Engine:
        try:
            parsed = make_url(url)
            if self.file is not None:
                _refuse_earlier_home(self.file)
                self.file.parent.mkdir(parents=True, exist_ok=True)
            engine = create_engine(parsed, pool_pre_ping=self.file is None)
        except OSError as error:
            raise StoreError(
                f"The folder of the store {self.file} cannot be written to ({error.strerror or error}); set BIFE_HOME "
                "to a folder of yours."
            ) from error
        except (ArgumentError, NoSuchModuleError, ImportError) as error:
            raise StoreError(
                f"The address of a store was expected to be a file or a database URL such as "
                f"postgresql+psycopg2://user@host/bife, and cannot be opened ({error}); PostgreSQL needs the extra "
                "bife-branching[postgres]."
            ) from error
        if engine.dialect.name == "sqlite":
            _prepare_sqlite(engine)
        self.engine = engine
        with self.writing() as connection:
            if engine.dialect.name == "postgresql":
                connection.exec_driver_sql(
                    "SELECT pg_advisory_xact_lock(7226)"
                )  # two programs that create the tables
            _tables.create_all(connection)
            found = connection.execute(select(meta.c.value).where(meta.c.name == "schema")).scalar()
            if found is None:
                connection.execute(insert(meta).values(name="schema", value=SCHEMA))
        if found not in (None, SCHEMA):
            engine.dispose()
            raise StoreError(
                f"The store {self.name} has schema {found} and this version of BiFE reads schema {SCHEMA}; use the "
                "version that wrote it, or set BIFE_HOME to a new folder."
            )
        return engine

    @contextmanager
    def _in_a_sentence(self, done: str) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).splitlines()[0]
            raise StoreError(
                f"The store {self.name} cannot be {done} ({reason}); make sure that its disk has room and that it can "
                "be reached, then run the same command again."
            ) from error


def _prepare_sqlite(engine: Engine) -> None:
    """Have commits survive a power cut, writers wait for one another, and readers for nobody."""

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where `_begun` says so
        for pragma in (f"busy_timeout={int(_BUSY_S * 1000)}", "synchronous=FULL"):
            connection.execute(f"PRAGMA {pragma}").close()
        deadline = time.monotonic() + _BUSY_S
        while (
            True
        ):  # of several programs that open a new file, SQLite lets one change its mode and refuses the others
            try:
                connection.execute("PRAGMA journal_mode=WAL").close()
                return
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        reads = connection.get_execution_options().get("reads")
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _refuse_earlier_home(file: Path) -> None:
    """Refuse a home whose results lie in files of BiFE 0.1, which no later version reads."""
    home = file.parent
    if not file.exists() and ((home / "solves").is_dir() or any(home.glob("runs/*/journal.jsonl"))):
        raise StoreError(
            f"{home} was expected to be empty or to hold the store {file.name}, and holds results of "
            "BiFE 0.1, which this version cannot read; set BIFE_HOME to a new folder."
        )
