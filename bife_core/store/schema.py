"""Where a store lies, and the schemas that it may have."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bife_core.base.places import sqlite_file

MIGRATIONS: Final = {
    4: "DROP TABLE claims",  # which is made anew: PostgreSQL cut names to 256 characters
    5: "ALTER TABLE solves DROP COLUMN repeats",
    6: "UPDATE studies SET kind = 'search' WHERE kind = 'evolution'",
    7: """UPDATE events SET body = replace(body, '"evolution_', '"search_')""",  # of registered rules and records
}
"""The statement that migrates a store to each schema from the one before; tables that it lacks are made without."""
SCHEMA: Final = max(MIGRATIONS)
OLDEST: Final = min(MIGRATIONS) - 1

DATABASE: Final = "bife.db"


def file_of(where: Path | str) -> Path | None:
    """Return the file of a store: a folder's ``bife.db``, a file ending in ``.db``, or SQLite's URL; else None."""
    if isinstance(where, str) and "://" in where:
        return sqlite_file(where)
    path = Path(where).expanduser()
    return path if path.suffix == ".db" else path / DATABASE
