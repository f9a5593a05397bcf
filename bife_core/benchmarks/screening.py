"""What is known of an instance file before anything is spent on it: whether SCIP can read it and branch on it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

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


@dataclass(frozen=True, slots=True)
class InstanceFacts:
    """Digest and size of a usable instance file."""

    digest: str
    n_vars: int
    n_integer: int


def screen(path: Path) -> InstanceFacts:
    """Read an instance file; raises InstanceError with a sentence if it cannot be used."""
    model = read_model(path)
    n_integer = model.getNBinVars() + model.getNIntVars()
    if model.getNVars() == 0:
        raise InstanceError(f"{path.name} describes no variables.")
    if n_integer == 0:
        raise InstanceError(f"{path.name} has no integer variables, so there is nothing to branch on.")
    return InstanceFacts(digest_of_file(path), model.getNVars(), n_integer)


def work(path: str) -> dict[str, Any] | str:
    """Return the facts of an instance, or why it cannot be used, as JSON."""
    try:
        return asdict(screen(Path(path)))
    except InstanceError as error:
        return str(error)


def screen_all(
    paths: Sequence[Path], kept: Path, progress: Callable[[int, int], None] | None = None
) -> Iterator[InstanceFacts | str]:
    """Yield for each file what it holds, or why it cannot be used.

    Facts are kept in the file `kept` until an instance file changes. Many files are read in worker processes, so that
    one on which SCIP crashes ends its process only.
    """
    before: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        before = json.loads(kept.read_text(encoding="utf-8"))
    found = {path: entry for path in paths if (entry := before.get(_key(path))) is not None}
    new = [path for path in paths if path not in found]
    for path, answer in zip(new, _answers(new), strict=True):
        found[path] = answer
        if progress is not None:
            progress(len(found), len(paths))
    if new:
        facts = {_key(path): entry for path, entry in found.items() if not isinstance(entry, str)}
        write_whole(kept, json.dumps(facts))
    for path in paths:
        entry = found[path]
        yield entry if isinstance(entry, str) else InstanceFacts(**entry)


def _key(path: Path) -> str:
    """Return what changes when a file does, or another SCIP reads it."""
    try:
        status = path.stat()
    except OSError:
        return str(path)
    return f"{path} {status.st_size} {status.st_mtime_ns} {status.st_ino} {library().version}"


def _answers(paths: Sequence[Path]) -> Iterator[dict[str, Any] | str]:
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
                yield f"{path.name} cannot be read: {failure}"
