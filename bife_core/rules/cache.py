"""Compiled rules on disk, so that the next process gets them in milliseconds.

A file holds machine code and is named by everything that code depends on: the rule's hash, the compiler and
the processor. Keep the directory as private as the environment itself: what lies there is executed.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CACHE_VARIABLE: Final = "BIFE_RULE_CACHE"
"""Environment variable naming the directory of compiled rules; unset means no cache."""

_MAGIC: Final = b"bife-rule-code-1\n"


def cache_directory(given: Path | None) -> Path | None:
    """Return the directory to use: the one given, else the environment's, else None."""
    if given is not None:
        return given
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else None


@dataclass(frozen=True, slots=True)
class StoredCode:
    """Machine code outside a process.

    Attributes
    ----------
    name : str
        Name of the library it was linked into.
    machine, bitcode : bytes
        Object code, and LLVM's form of the same.
    symbols : tuple of str
        Functions it calls that are not its own.
    """

    name: str
    machine: bytes
    bitcode: bytes
    symbols: tuple[str, ...]


def read_code(directory: Path, sha: str, target: str) -> StoredCode | None:
    """Return the code stored for a rule and target; None if there is none, or if it is damaged."""
    try:
        data = _file(directory, sha, target).read_bytes()
    except OSError:
        return None
    if not data.startswith(_MAGIC):
        return None
    header, _, payload = data[len(_MAGIC) :].partition(b"\n")
    try:
        facts = json.loads(header)
        intact = facts["digest"] == hashlib.sha256(payload).hexdigest() and facts["target"] == target
        name, size, symbols = str(facts["name"]), int(facts["size"]), tuple(map(str, facts["symbols"]))
    except (ValueError, KeyError, TypeError):
        return None
    return StoredCode(name, payload[:size], payload[size:], symbols) if intact else None


def write_code(directory: Path, sha: str, target: str, code: StoredCode) -> None:
    """Store compiled code.

    A directory that cannot be written to is no error: the next process compiles again.
    """
    payload = code.machine + code.bitcode
    facts = {
        "name": code.name,
        "size": len(code.machine),
        "digest": hashlib.sha256(payload).hexdigest(),
        "target": target,
        "symbols": code.symbols,
    }
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=directory, prefix=".", delete=False) as file:
            file.write(_MAGIC + json.dumps(facts).encode() + b"\n" + payload)
        Path(file.name).replace(_file(directory, sha, target))
    except OSError:
        return


def _file(directory: Path, sha: str, target: str) -> Path:
    return directory / f"{sha[:32]}-{hashlib.sha256(target.encode()).hexdigest()[:12]}.rule"
