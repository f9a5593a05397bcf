"""What is found out about an instance before anything is spent on it: can SCIP read and branch on it; archives."""

from __future__ import annotations

import ast
import csv
import hashlib
import json
import lzma
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from pyscipopt import Model

from bife_core.errors import InstanceError
from bife_core.files import write_whole
from bife_core.sandbox import WorkerFailure, WorkerPool, submit_repeated
from bife_core.scip.libscip import library
from bife_core.scip.reading import model_format, read_with_doubt

_DISCRETE_HANDLERS = frozenset({"SOS1", "SOS2", "bounddisjunction", "cardinality", "disjunction"})
"""Constraints SCIP branches on although no variable is integral; semicontinuous variables become such."""

_MANY: Final = 24
"""Instances from which on processes of their own are worth their start."""
_LIMIT_S: Final = 600.0
"""Wall seconds one instance may take to be read."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What screening found out about a usable instance file.

    Attributes
    ----------
    digest : str
        First 16 hexadecimal digits of the SHA-256 of the uncompressed file.
    n_vars, n_integer, n_cons : int
        Variables, binary and integer ones among them, and constraints, as read. Without integer variables the
        instance is discrete through its constraints (SOS, semicontinuous bounds) and no branching rule is asked.
    doubt : str or None
        A sentence on what cannot be known of the file, such as whether it is whole.
    """

    digest: str
    n_vars: int
    n_integer: int
    n_cons: int
    doubt: str | None = None


def screen(path: Path) -> ModelFacts:
    """Read an instance file and return what it holds, or say in one sentence why it cannot be used.

    Parameters
    ----------
    path : Path
        A file of a format SCIP reads, plain or gzipped.

    Returns
    -------
    ModelFacts
        Size and digest of the instance.

    Raises
    ------
    InstanceError
        If the file is missing, is not an instance file, is damaged, or gives nothing to branch on.
    """
    return screened(path)[0]


def screened(path: Path) -> tuple[ModelFacts, Model]:
    """Return what `screen` returns, and the instance it read."""
    digest = hashlib.sha256()
    model, doubt = read_with_doubt(path, digest.update)
    n_integer = model.getNBinVars() + model.getNIntVars()
    if model.getNVars() == 0:
        raise InstanceError(_refusal(f"{path.name} describes no variables", doubt))
    if n_integer == 0 and not any(c.getConshdlrName() in _DISCRETE_HANDLERS for c in model.getConss()):
        raise InstanceError(
            _refusal(f"{path.name} has no integer variables, so there is nothing to branch on", doubt)
        )
    return ModelFacts(digest.hexdigest()[:16], model.getNVars(), n_integer, model.getNConss(), doubt), model


def _refusal(sentence: str, doubt: str | None) -> str:
    return f"{sentence}; it may be cut off, for it has no line 'End'." if doubt else f"{sentence}."


def screen_all(
    paths: Sequence[Path],
    known: Path,
    progress: Callable[[int, int], None] | None = None,
) -> list[ModelFacts | str]:
    """Screen many instances; the facts of a usable one are kept until its file changes.

    Many are read side by side in processes of their own, so that a file on which SCIP crashes ends that process only.

    Parameters
    ----------
    paths : sequence of Path
        Instance files.
    known : Path
        File in which facts are kept from one call to the next.
    progress : callable, optional
        Called with (instances screened, instances in all).

    Returns
    -------
    list of (ModelFacts or str)
        For each file what it holds, or the sentence why it cannot be used.
    """
    before = _load(known)
    scip = library().version
    stamps = {path: _stamp(path, scip) for path in paths}
    found: dict[Path, ModelFacts | str] = {
        path: ModelFacts(**entry["facts"])
        for path in paths
        if stamps[path] and (entry := before.get(str(path))) is not None and entry["stamp"] == stamps[path]
    }
    new = [path for path in paths if path not in found]
    for path, result in _screened(new):
        found[path] = result
        if progress is not None:
            progress(len(found), len(paths))
    if new:
        # Others may have screened other folders meanwhile: what they wrote stays.
        entries = {
            str(path): {"stamp": stamps[path], "facts": asdict(facts)}
            for path in paths
            if isinstance(facts := found[path], ModelFacts)
        }
        write_whole(known, json.dumps(_load(known) | entries))
    return [found[path] for path in paths]


def _screened(paths: Sequence[Path]) -> Iterator[tuple[Path, ModelFacts | str]]:
    if len(paths) < _MANY:
        yield from ((path, _facts(work(str(path)))) for path in paths)
        return
    with WorkerPool(pin=False) as pool:
        task = "bife_core.benchmarks.screening:work"
        waiting = [
            submit_repeated(pool, task, {"path": str(path)}, limit_s=_LIMIT_S, reads=[path]) for path in paths
        ]
        for path, answer in zip(paths, waiting, strict=True):
            try:
                yield path, _facts(answer.result())
            except WorkerFailure as failure:
                yield path, f"{path.name} cannot be read: {failure}"


def work(path: str) -> dict[str, Any] | str:
    """Return the facts of an instance as JSON, or why it cannot be used; `screen_all` calls it in workers."""
    try:
        return asdict(screen(Path(path)))
    except InstanceError as error:
        return str(error)


def _facts(answer: dict[str, Any] | str) -> ModelFacts | str:
    return answer if isinstance(answer, str) else ModelFacts(**answer)


def _stamp(path: Path, scip: str) -> list[int | str]:
    """Return what changes when a file does, or another SCIP reads it."""
    try:
        status = path.stat()
    except OSError:
        return []
    return [status.st_size, status.st_mtime_ns, status.st_ino, scip]


def _load(known: Path) -> dict[str, Any]:
    try:
        entries: dict[str, Any] = json.loads(known.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return entries


ARCHIVES: Final = (".zip", ".csv")
"""Suffixes of files that may hold instances. Both are layouts in which Distributional MIPLIB is handed on."""

_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, SyntaxError, csv.Error)
"""What the libraries raise that unpack, and Python at the text of a cell that was cut off."""

_TEXT, _FORMAT = "milp", "format"
"""Columns of a table of instances, whatever their case: the text, and `lp` or `mps`."""


def unpacked(archive: Path, directory: Path) -> Path | None:
    """Return a folder with the instances of an archive, written when they are first asked for.

    Parameters
    ----------
    archive : Path
        A file with a suffix in `ARCHIVES`.
    directory : Path
        Where such folders are made, each named after the archive's content.

    Returns
    -------
    Path or None
        None for a table that is no table of instances.

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
        for name in models:
            opened.extract(name, folder)  # which keeps within the folder, whatever the name says
    return bool(models)


def _write_rows(table: Path, folder: Path) -> bool:
    # A cell may be as long as an instance.
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
