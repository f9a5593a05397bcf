"""Read an instance file with SCIP, after making sure that it is whole."""

from __future__ import annotations

import gzip
import os
import re
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, get_args

from pyscipopt import Model

from bife_core.errors import InstanceError

ModelFormat = Literal["mps", "lp", "cip", "opb"]

EXPECTED_FILES: Final = "a .mps, .lp, .cip or .opb file, plain or gzipped (.gz)"

_GZIP_MAGIC: Final = b"\x1f\x8b"
_END_MARK: Final[dict[ModelFormat, bytes]] = {"mps": b"ENDATA", "cip": b"END"}
"""Last lines; that of an LP file may be left out."""
_CHECKED: Final[set[tuple[int, int, int, int, str]]] = set()
"""Files as they were when they were checked: a large one that is solved again is not gone through again."""

_STDERR_LOCK: Final = threading.Lock()
_SCIP_ERROR: Final = re.compile(r"^\[[^\]]*\] ERROR: (.*)$")


def model_format(path: Path) -> ModelFormat | None:
    """Return the format a file's name promises, or None if it is no instance file.

    Examples
    --------
    >>> model_format(Path("lseu.mps.gz")), model_format(Path("P0548.MPS")), model_format(Path("notes.txt"))
    ('mps', 'mps', None)
    """
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return next((known for known in get_args(ModelFormat) if suffix == f".{known}"), None)


def read_model(path: Path) -> Model:
    """Read an instance file (`EXPECTED_FILES`) with SCIP's output hidden; it can be given parameters and solved.

    An `InstanceError` is raised if the file is missing, is not an instance file, or is damaged. The end mark of the
    format is looked for first: an MPS file cut among its rows can bring the process down.
    """
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise InstanceError(f"There is no file {path}.") from error
    except OSError as error:
        raise InstanceError(f"{path} cannot be opened: {error.strerror or error}.") from error
    format_ = model_format(path)
    if format_ is None or not path.is_file():
        raise InstanceError(f"{path} is no instance file; expected {EXPECTED_FILES}.")
    file = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, format_)
    if file not in _CHECKED:
        _check_lines(path, format_)
        _CHECKED.add(file)
    model = Model()
    model.hideOutput()
    messages: list[str] = []
    try:
        with scip_errors(messages):
            model.readProblem(str(path), format_)
    except Exception as error:
        # PySCIPOpt raises plain exceptions that name SCIP's return code; the cause is what SCIP printed.
        reason = messages[0] if messages else str(error).removeprefix("SCIP: ")
        raise InstanceError(
            f"{path.name} cannot be read as {format_.upper()}: {reason.strip(' .!')}."
        ) from error
    return model


def _check_lines(path: Path, format_: ModelFormat) -> None:
    """Refuse a file that shows that it is not whole."""
    section, empty = b"", True
    mark = _END_MARK.get(format_)
    try:
        # SCIP goes by the content too, so a gzipped file need not be called .gz.
        with path.open("rb") as file:
            lines: Iterable[bytes] = gzip.GzipFile(fileobj=file) if file.read(2) == _GZIP_MAGIC else file
            file.seek(0)
            for number, line in enumerate(lines, start=1):
                tokens = line.split()
                empty = empty and not tokens
                if not tokens or (format_ == "mps" and line.startswith(b"*")):
                    continue
                if tokens[0].upper() == mark:
                    mark = None  # the rest is read to know that it can be decompressed
                if not line[:1].isspace():
                    section = tokens[0].upper()
                elif section == b"ROWS" and len(tokens) < 2 and format_ == "mps":
                    # SCIP does not survive it.
                    raise InstanceError(f"{path.name} is damaged: line {number}, in ROWS, names no row.")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InstanceError(f"{path.name} cannot be decompressed: it is cut off or damaged.") from error
    except OSError as error:
        raise InstanceError(f"{path} cannot be opened: {error.strerror or error}.") from error
    if empty:
        raise InstanceError(f"{path.name} is empty.")
    if mark is not None:
        raise InstanceError(
            f"{path.name} is cut off or no {format_.upper()} file: it has no line {mark.decode()!r}."
        )


@contextmanager
def scip_errors(messages: list[str]) -> Iterator[None]:
    """Collect the error messages SCIP writes straight to the process's standard error.

    What others wrote there in the meantime is passed on. PySCIPOpt's own redirection is no substitute: it is
    never undone, and calls into Python from solves that have let go of the interpreter lock.
    """
    with _STDERR_LOCK, tempfile.TemporaryFile() as capture:
        sys.stderr.flush()
        original = os.dup(2)
        os.dup2(capture.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(original, 2)
            os.close(original)
            capture.seek(0)
            for line in capture.read().decode(errors="replace").splitlines(keepends=True):
                message = _SCIP_ERROR.match(line.rstrip())
                if message:
                    messages.append(message.group(1))
                else:
                    os.write(2, line.encode())
