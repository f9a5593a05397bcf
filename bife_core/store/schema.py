"""Where a store lies, and the schema that it has."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bife_core.base.places import sqlite_file

SCHEMA: Final = "7"
"""Version of the tables: another is refused."""

DATABASE: Final = "bife.db"


def file_of(where: Path | str) -> Path | None:
    """Return the file of a store: a folder's ``bife.db``, a file ending in ``.db``, or SQLite's URL; else None."""
    if isinstance(where, str) and "://" in where:
        return sqlite_file(where)
    path = Path(where).expanduser()
    return path if path.suffix == ".db" else path / DATABASE
