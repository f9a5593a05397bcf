"""Calls on their way to another machine and back: each file they name travels through the storage root as a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from bife_core.places import compiled_code
from bife_core.sandbox import Allowed
from tasks.home import project_home
from tasks.storage import fetch, key_of, publish

_FILE: Final = "$file"
_OUTPUT: Final = "$output"
_COMPILED: Final = "$compiled"
_LONGEST_PATH: Final = 4096


def pack(arguments: dict[str, Any], root: str) -> dict[str, Any]:
    """Return a call's arguments with each file it reads published and each one it will write named by its key."""
    if not root:
        return arguments
    return {name: _packed(value, root) for name, value in arguments.items()}


def pack_allowed(allowed: Allowed, root: str) -> dict[str, Any]:
    """Return what a call may take and touch in a form that means the same on another machine."""
    home = project_home().root
    named: list[Any] = []
    for path in allowed.get("writes", ()):
        if path == compiled_code():
            named.append({_COMPILED: ""})  # each machine has its own
        elif root and path.is_relative_to(home):
            named.append({_OUTPUT: key_of(path)})
        else:
            named.append(str(path))
    reads = [_packed(str(path), root) if root else str(path) for path in allowed.get("reads", ())]
    return {**allowed, "reads": reads, "writes": named}


def arrive_allowed(allowed: dict[str, Any], root: str) -> dict[str, Any]:
    """Return limits and places as this machine's pool takes them; directories to write to are made."""
    writes = [
        compiled_code() if _is(value, _COMPILED) else Path(_unpacked(value, root))
        for value in allowed["writes"]
    ]
    for directory in writes:
        directory.mkdir(parents=True, exist_ok=True)
    reads = [Path(_unpacked(value, root)) for value in allowed["reads"]]
    return allowed | {"reads": reads, "writes": writes}


def arrive(arguments: dict[str, Any], root: str) -> dict[str, Any]:
    """Return packed arguments with paths on this machine, the files to be read fetched."""
    return {name: _unpacked(value, root) for name, value in arguments.items()}


def depart(packed: dict[str, Any], local: dict[str, Any], root: str) -> list[str]:
    """Publish what a call wrote, with the files of the same stem beside it, and return the keys."""
    written = [Path(local[name]) for name, value in packed.items() if _is(value, _OUTPUT)]
    return [
        publish(file, root)
        for path in written
        for file in sorted(path.parent.glob(f"{path.stem}.*"))
        if not file.name.endswith(".partial")
    ]


def bring_back(keys: list[str], root: str) -> None:
    """Fetch what a call wrote on another machine.

    Raises
    ------
    OSError
        If a file is gone.
    """
    for key in keys:
        fetch(key, root)


def _packed(value: Any, root: str) -> Any:
    if not isinstance(value, str) or len(value) > _LONGEST_PATH or "\n" in value:
        return value
    path = Path(value)
    if not path.is_absolute():
        return value
    if path.is_file():
        return {_FILE: publish(path, root)}
    return {_OUTPUT: key_of(path)} if path.is_relative_to(project_home().root) else value


def _unpacked(value: Any, root: str) -> Any:
    if _is(value, _FILE):
        return str(fetch(value[_FILE], root))
    if _is(value, _OUTPUT):
        path = project_home().root / value[_OUTPUT]
        path.parent.mkdir(parents=True, exist_ok=True)
        return str(path)
    return value


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, dict) and value.keys() == {kind}
