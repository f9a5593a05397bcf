"""The temporary directory of one worker, removed with the worker, or when the worker is found to be gone."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

_PREFIX: Final = "bife-worker-"
_YOUNG_S: Final = 10.0
"""A younger directory may belong to a process that has not locked it yet."""


class Scratch:
    """A new temporary directory, locked for as long as this process or one that inherits `lock` lives.

    A process that is killed cannot tidy up. The kernel drops its locks, though, so every new `Scratch` removes the
    directories beside it that nobody holds any more.

    Attributes
    ----------
    path : Path
        The directory.
    lock : int
        Descriptor to be handed down to the worker.
    """

    def __init__(self) -> None:
        _remove_abandoned(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self.lock = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def remove(self) -> None:
        """Remove the directory and all in it."""
        if self.lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self.lock)
            self.lock = -1


def _remove_abandoned(parent: Path) -> None:
    for path in parent.glob(f"{_PREFIX}*"):
        try:
            if path.is_symlink() or path.stat().st_uid != os.geteuid():
                continue
            if time.time() - path.stat().st_ctime < _YOUNG_S:
                continue
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY)
        except OSError:
            continue  # gone meanwhile, or not ours
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except OSError:
            pass  # held by a living worker
        finally:
            os.close(descriptor)
