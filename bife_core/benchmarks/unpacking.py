"""Models inside other files: zip archives, and tables with the text of a model in each row."""

from __future__ import annotations

import ast
import csv
import hashlib
import lzma
import shutil
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Final

from bife_core.errors import InstanceError
from bife_core.scip.reading import model_format

ARCHIVES: Final = (".zip", ".csv")
"""Suffixes of files that may hold models. Both are layouts in which Distributional MIPLIB is handed on."""

BOUNDS: Final = ".json"
"""Suffix of the file beside a model that gives bounds; the ML4CO competition's layout."""

_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, SyntaxError, csv.Error)
"""What the libraries raise that unpack, and Python at the text of a cell that was cut off."""

_TEXT, _FORMAT = "milp", "format"
"""Columns of a table of models, whatever their case: the text, and `lp` or `mps`."""


def unpacked(archive: Path, directory: Path) -> Path | None:
    """Return a folder with the models of an archive, written when they are first asked for.

    Parameters
    ----------
    archive : Path
        A file with a suffix in `ARCHIVES`.
    directory : Path
        Where such folders are made, each named after the archive's content.

    Returns
    -------
    Path or None
        None for a table that is no table of models.

    Raises
    ------
    InstanceError
        If the archive cannot be read.
    """
    try:
        with archive.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
        folder = directory / digest
        if folder.is_dir():
            return folder
        directory.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=directory))
        try:
            found = _unzip(archive, made) if archive.suffix.lower() == ".zip" else _write_rows(archive, made)
            if found:
                _keep(made, folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return folder if found else None
    except (*_DAMAGED, OSError, RuntimeError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise InstanceError(f"{archive.name} cannot be unpacked: {reason}.") from error


def _keep(made: Path, folder: Path) -> None:
    """Give what was made its name, unless another process has just done so with the same."""
    try:
        made.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


def _unzip(archive: Path, folder: Path) -> bool:
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
        models = [name for name in names if model_format(Path(name)) is not None]
        for name in models + [name for name in names if name.endswith(BOUNDS)]:
            opened.extract(name, folder)  # which keeps within the folder, whatever the name says
    return bool(models)


def _write_rows(table: Path, folder: Path) -> bool:
    # A cell may be as long as a model.
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    with table.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = csv.DictReader(file)
        columns = {name.lower(): name for name in rows.fieldnames or () if name}
        if _TEXT not in columns:
            return False
        count = 0
        for count, row in enumerate(rows, start=1):
            text = row[columns[_TEXT]] or ""
            if text.startswith(("b'", 'b"')):
                text = ast.literal_eval(text).decode()
            kind = ((row[columns[_FORMAT]] if _FORMAT in columns else "") or "lp").strip(". ").lower()
            if model_format(Path(f"row.{kind}")) is None:
                raise ValueError(
                    f"row {count} has the format {kind!r}, expected lp, mps or another that SCIP reads"
                )
            (folder / f"{count:05d}.{kind}").write_text(text, encoding="utf-8")
    return count > 0
