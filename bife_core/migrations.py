"""Whether the installed MLflow or Prefect can read its database in a home, or a newer one made it."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from bife_core.files import write_whole

_PACKAGES: Final = {
    "mlflow": ("MLflow", "store/db_migrations/versions"),
    "prefect": ("Prefect", "server/database/_migrations/versions/sqlite"),
}
"""What a package is called, and where it has a file for each revision of its tables, named by it."""


def made_by_newer(database: Path, package: str) -> str:
    """Return in a sentence that a newer version of a package made an SQLite database; empty if it can be read."""
    found, spec = None, find_spec(package)
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as opened,
    ):
        found = opened.execute("SELECT version_num FROM alembic_version").fetchone()
    if found is None or spec is None or spec.origin is None:
        return ""
    name, folder = _PACKAGES[package]
    revisions = [path.name for path in (Path(spec.origin).parent / folder).glob("*.py")]
    if not revisions or any(found[0] in name for name in revisions):
        return ""
    installed, maker = version(package), ""
    with suppress(OSError):
        noted = _note(database).read_text(encoding="utf-8")
        maker = "" if noted == installed else noted
    return (
        f"{database} was made by {f'{name} {maker}' if maker else f'a newer {name}'}, and {name} {installed}, which is "
        f"installed, cannot read it; install {f'{package}=={maker}' if maker else f'a newer {package}'}, or set "
        "BIFE_HOME to a new folder."
    )


def note_version(database: Path, package: str) -> None:
    """Record beside a database that the installed version of a package opened it."""
    with suppress(OSError):
        if database.is_file():
            write_whole(_note(database), version(package))


def _note(database: Path) -> Path:
    return database.with_suffix(".version")
