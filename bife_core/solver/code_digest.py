"""What compiled code is known by: a hash of its source."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

COMPILED: Final = ("solver/scip/compiled", "language/features", "solver/jit.py")
"""Files and folders whose code is compiled."""

_OWN_IMPORT: Final = re.compile(rb"^ *(?:from|import) bife_core\b[^(\n]*(?:\([^)]*\))?\n", re.MULTILINE)


@cache
def code_digest() -> str:
    """Return a hash of the source of all code that solves run, and of its compiler's version."""
    from importlib.metadata import version

    return digest_of_code([*sources(COMPILED), version("numba").encode()])


@cache
def digest_of_folder(place: str) -> str:
    """Return a hash of the source of the modules in a folder of this package."""
    return digest_of_code(sources([place]))


def sources(places: Iterable[str]) -> Iterator[bytes]:
    """Yield the content of files, and of those in folders, of this package."""
    root = Path(__file__).parents[1]
    for place in (root / name for name in places):
        yield from (path.read_bytes() for path in ([place] if place.is_file() else place.glob("*.py")))


def digest_of_code(texts: Iterable[bytes]) -> str:
    """Return a hash of the source of modules that does not depend on where they lie."""
    hashes = {hashlib.sha256(_OWN_IMPORT.sub(b"", text)).hexdigest() for text in texts}
    return hashlib.sha256(" ".join(sorted(hashes)).encode()).hexdigest()[:16]
