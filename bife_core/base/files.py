"""Atomic writes, private folders, and checks of paths."""

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
    """Write a file atomically, text as UTF-8, and make missing directories above it.

    A crash leaves the former file or the new one; the last writer wins. A symbolic link stays and leads to the new
    file. Pipes, devices and this process's standard output are written to directly.
    """
    data, target = content.encode() if isinstance(content, str) else content, file_at(path)
    partial = (target or path).with_name(f".{uuid.uuid4().hex}.partial")
    try:
        if target is None:
            with os.fdopen(os.dup(1), "wb") if path.is_file() else path.open("wb") as file:
                file.write(data)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, partial)
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        error.filename, error.filename2 = str(path), None  # a full disk names no file, others the partial one
        raise


def file_at(path: Path) -> Path | None:
    """Return the file that a path leads to or would make; None for a pipe, a device or standard output."""
    with suppress(FileNotFoundError):
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return None
        with suppress(OSError):  # standard output may be closed
            if os.path.samestat(status, os.fstat(1)):
                return None
    return Path(os.path.realpath(path))


def check_outputs(paths: Iterable[Path], inputs: Iterable[object] = ()) -> None:
    """Make the folders of files; raise `OSError` if one cannot be written, `ConfigError` if `inputs` are or name it."""
    parts = {part for text in map(str, inputs) for part in (text, *re.split(r"[,='\"\[\]]", text))}
    read = [
        path for path in (Path(part).expanduser() for part in parts if can_be_path(part)) if path.exists()
    ]
    for path in paths:
        try:
            if path.exists():
                if any(map(path.samefile, read)):
                    raise ConfigError(f"{path} is read and would be written over; name another file.")
                if not path.is_fifo():  # which waits for a reader
                    os.close(os.open(path, os.O_WRONLY))
            if (target := file_at(path)) is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=target.parent):
                    pass
        except OSError as error:
            error.filename = str(path)
            raise


def make_private(folder: Path) -> None:
    """Make a folder and missing ones above it, for this user alone; existing ones keep their mode."""
    for path in (*reversed(folder.parents), folder):
        if not path.is_dir():
            path.mkdir(mode=0o700, exist_ok=True)


def can_be_path(path: str | Path) -> bool:
    """Return whether a file may have this path, which needs not exist."""
    try:
        Path(path).expanduser().lstat()
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG
    except (ValueError, RuntimeError):  # a NUL; the home of an unknown user
        return False
    return path != ""  # of which `Path` makes the current folder
