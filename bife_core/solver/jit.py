"""Compile functions to machine code, cached on disk in a folder named after the source of all that are compiled.

numba's own cache goes by the time stamp of one file, and our functions call each other across files.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import numba

from bife_core.base.places import compiled_code, usable

_COMPILED: Final = ("bife_core.language.features", "bife_core.solver.scip.compiled")
"""Packages whose code is compiled, beside the modules that import this one."""

_OWN_IMPORT: Final = re.compile(rb"^ *(?:from|import) bife_core\b[^(\n]*(?:\([^)]*\))?\n", re.MULTILINE)


@cache
def code_digest() -> str:
    """Return a hash of the source of all code that is compiled."""
    root = Path(str(importlib.resources.files("bife_core")))
    texts = {path: path.read_bytes() for path in root.rglob("*.py")}
    compiled = tuple(root.joinpath(*name.split(".")[1:]) for name in _COMPILED)
    return digest_of_code(
        text
        for path, text in texts.items()
        if __name__.encode() in text or any(path.is_relative_to(folder) for folder in compiled)
    )


def digest_of_code(texts: Iterable[bytes]) -> str:
    """Return a hash of the source of modules that does not depend on where they lie."""
    hashes = {hashlib.sha256(_OWN_IMPORT.sub(b"", text)).hexdigest() for text in texts}
    return hashlib.sha256(" ".join([numba.__version__, *sorted(hashes)]).encode()).hexdigest()[:16]


@cache
def cache_directory() -> Path:
    """Return the folder of compiled code, below ``BIFE_CACHE_DIR`` or the user's cache directory.

    If it is read-only, as in a worker, a temporary folder has links to its files; numba replaces a file that it writes,
    so only the link.
    """
    cached = compiled_code() / code_digest()
    folder = usable(cached)
    for compiled in cached.rglob("*.nb[ic]") if folder != cached else ():
        link = folder / compiled.relative_to(cached)
        link.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            link.symlink_to(compiled)
    return folder


@contextmanager
def _our_cache() -> Iterator[None]:
    # numba reads the setting when a function is decorated, so functions of other packages are not affected.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_directory())
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def jit(function: Callable[..., Any], signature: Any = None, **options: Any) -> Any:
    """Compile `function` on its first call, without Python objects and checks of division and bounds."""
    with _our_cache():
        return numba.njit(signature, cache=True, error_model="numpy", **options)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile like `jit`, inlined into every caller."""
    return jit(function, forceinline=True)


def inlined_here(function: Callable[..., Any]) -> Any:
    """Compile like `inlined`, a function made at run time, which is kept with what calls it only."""
    return numba.njit(error_model="numpy", forceinline=True)(function)


def jit_for(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile like `jit`, but at once: a worker, which calls it, cannot write to the cache."""
    return lambda function: jit(function, signature)


def c_callback(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function at once into a C function of a numba signature."""
    compiler: Callable[[Callable[..., Any]], Any] = numba.cfunc(signature, cache=True)
    return _our_cache()(compiler)
