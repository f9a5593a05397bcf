"""Files that are whole or absent, whatever happens while they are written, private folders, and impossible names."""

from __future__ import annotations

import errno
import os
import tempfile
import uuid
from pathlib import Path


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file beside its place, force it to the disk, and move it there in one step.

    A kill, a full disk or a power failure leaves the former file or the new one; of several writers the last one wins.
    Directories above it are made where they are missing, and text is written as UTF-8.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        with partial.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        error.filename, error.filename2 = str(path), None  # a full disk names no file, others the partial one
        raise


def check_writable(path: Path) -> None:
    """Make the folder of a file, and raise an `OSError` if `write_whole` could not write there."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=path.parent):
        pass


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for this user alone; one that is there stays as it is."""
    for each in (*reversed(folder.parents), folder):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def can_be_path(path: str | Path) -> bool:
    """Whether a file may have this path, be there one or not: some are empty, too long, or hold what no name does."""
    try:
        Path(path).expanduser().lstat()
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG
    except (ValueError, RuntimeError):  # a NUL; the home of a user that there is not
        return False
    return path != ""  # of which `Path` makes the current folder
