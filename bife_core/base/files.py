"""Files that are whole or absent, whatever happens while they are written, private folders, and impossible names."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bife_core.base.errors import ConfigError


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file beside its place, force it to the disk, and move it there in one step.

    A kill, a full disk or a power failure leaves the former file or the new one; of several writers the last one wins.
    Directories above it are made where they are missing, and text is written as UTF-8. A symbolic link stays and leads
    to the new file. Pipes, devices and what this process prints to are written to as they are.
    """
    data, place = content.encode() if isinstance(content, str) else content, file_at(path)
    partial = (place or path).with_name(f".{uuid.uuid4().hex}.partial")
    try:
        if place is None:
            with os.fdopen(os.dup(1), "wb") if path.is_file() else path.open("wb") as file:
                file.write(data)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, partial)
        partial.replace(place)
    except OSError as error:
        partial.unlink(missing_ok=True)
        error.filename, error.filename2 = str(path), None  # a full disk names no file, others the partial one
        raise


def file_at(path: Path) -> Path | None:
    """Return the file that a path leads to or would make; None where a pipe or device is, or what is printed to."""
    with suppress(FileNotFoundError):
        there = path.stat()
        if not stat.S_ISREG(there.st_mode):
            return None
        with suppress(OSError):  # standard output may be closed
            if os.path.samestat(there, os.fstat(1)):
                return None
    return Path(os.path.realpath(path))


def check_outputs(paths: Iterable[Path], inputs: Iterable[object] = ()) -> None:
    """Make the folders of files, and raise an `OSError` if `write_whole` could not write there.

    A `ConfigError` says that a path leads to a file that is read: one of the `inputs`, or named in their text.
    """
    parts = {part for text in map(str, inputs) for part in (text, *re.split(r"[,='\"\[\]]", text))}
    read = [path for path in (Path(one).expanduser() for one in parts if can_be_path(one)) if path.exists()]
    for path in paths:
        try:
            if path.exists():
                if any(map(path.samefile, read)):
                    raise ConfigError(f"{path} is read and would be written over; name another file.")
                if not path.is_fifo():  # which waits for a reader
                    os.close(os.open(path, os.O_WRONLY))
            if (place := file_at(path)) is not None:
                place.parent.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=place.parent):
                    pass
        except OSError as error:
            error.filename = str(path)
            raise


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
