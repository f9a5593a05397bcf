"""What is known of an instance file before anything is spent on it: whether SCIP can read it and branch on it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from bife_core.benchmarks.base import digest_of_file
from bife_core.errors import InstanceError
from bife_core.files import write_whole
from bife_core.sandbox import WorkerFailure, WorkerPool
from bife_core.scip.libscip import library
from bife_core.scip.reading import read_model

_MANY: Final = 24
"""Instances from which on reading them in worker processes justifies their start."""
_LIMIT_S: Final = 600.0
"""Wall seconds one instance may take to be read."""


def screen(path: Path) -> str:
    """Read an instance file and return its digest; raises InstanceError with a sentence if it cannot be used."""
    model = read_model(path)
    if model.getNVars() == 0:
        raise InstanceError(f"{path.name} describes no variables.")
    if model.getNBinVars() + model.getNIntVars() == 0:
        raise InstanceError(f"{path.name} has no integer variables, so there is nothing to branch on.")
    return digest_of_file(path)


def work(path: str) -> dict[str, str]:
    """Return the `digest` of an instance, or in `failure` why it cannot be used."""
    try:
        return {"digest": screen(Path(path))}
    except InstanceError as error:
        return {"failure": str(error)}


def screen_all(
    paths: Sequence[Path], kept: Path, progress: Callable[[int, int], None] | None = None
) -> Iterator[dict[str, str]]:
    """Yield for each file its `digest`, or in `failure` why it cannot be used.

    Digests are kept in the file `kept` until an instance file changes. Many files are read in worker processes, so that
    one on which SCIP crashes ends its process only.
    """
    before: dict[str, dict[str, str]] = {}
    with suppress(OSError, ValueError):
        before = json.loads(kept.read_text(encoding="utf-8"))
    found = {path: entry for path in paths if (entry := before.get(_key(path))) is not None}
    new = [path for path in paths if path not in found]
    for path, answer in zip(new, _answers(new), strict=True):
        found[path] = answer
        if progress is not None:
            progress(len(found), len(paths))
    if new:
        usable = {_key(path): entry for path, entry in found.items() if "digest" in entry}
        write_whole(kept, json.dumps(usable))
    yield from (found[path] for path in paths)


def _key(path: Path) -> str:
    """Return what changes when a file does, or another SCIP reads it."""
    try:
        status = path.stat()
    except OSError:
        return str(path)
    return f"{path} {status.st_size} {status.st_mtime_ns} {status.st_ino} {library().version}"


def _answers(paths: Sequence[Path]) -> Iterator[dict[str, str]]:
    if len(paths) < _MANY:
        yield from (work(str(path)) for path in paths)
        return
    with WorkerPool(pin=False) as pool:
        call = f"{__name__}:work"
        waiting = [pool.submit(call, {"path": str(path)}, limit_s=_LIMIT_S, reads=[path]) for path in paths]
        for path, answer in zip(paths, waiting, strict=True):
            try:
                yield answer.result()
            except WorkerFailure as failure:
                yield {"failure": f"{path.name} cannot be read: {failure}"}
