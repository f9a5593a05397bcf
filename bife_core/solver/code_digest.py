"""What compiled code is known by: a hash of its source."""

from __future__ import annotations

import hashlib
import importlib.resources
import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

_COMPILED: Final = ("solver/scip/compiled", "language/features", "solver/jit.py")
"""Files and folders whose code is compiled."""

_OWN_IMPORT: Final = re.compile(rb"^ *(?:from|import) bife_core\b[^(\n]*(?:\([^)]*\))?\n", re.MULTILINE)


@cache
def code_digest() -> str:
    """Return a hash of the source of all code that is compiled."""
    root = Path(str(importlib.resources.files("bife_core")))
    places = [root / name for name in _COMPILED]
    return digest_of_code(
        path.read_bytes() for place in places for path in ([place] if place.is_file() else place.glob("*.py"))
    )


def digest_of_code(texts: Iterable[bytes]) -> str:
    """Return a hash of the source of modules that does not depend on where they lie."""
    hashes = {hashlib.sha256(_OWN_IMPORT.sub(b"", text)).hexdigest() for text in texts}
    return hashlib.sha256(" ".join([version("numba"), *sorted(hashes)]).encode()).hexdigest()[:16]
