"""Plugins by name: those of BiFE and those that other packages offer."""

from __future__ import annotations

import hashlib
import os
import sys
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final, NamedTuple, TypeVar

from bife_core.base.errors import ConfigError

Plugin = TypeVar("Plugin")

_OF_EXTRAS: Final = {"httpx2": "llm", "openai": "llm", "pydantic_settings": "llm"}
"""Packages that only some of BiFE's own plugins import, and the extra that brings each."""


class Entry(NamedTuple):
    """A plugin by its group and name: `where` it is, as ``module:object``, and the metadata of another package."""

    group: str
    name: str
    where: str
    metadata: Path | None = None

    @property
    def package(self) -> str:
        """Name and version of its package."""
        if self.metadata is None:
            return "BiFE"
        from importlib.metadata import PathDistribution  # takes longer than to find all entries

        package = PathDistribution(self.metadata)
        # A folder on PYTHONPATH may have nothing but entry points.
        if not any(map(package.read_text, ("METADATA", "PKG-INFO"))):
            return f"{self.where.partition('.')[0]} (not installed)"
        return f"{package.name} {package.version}"


def entries(group: str = "") -> list[Entry]:
    """Return the entry points in a group, by default in all of BiFE's, of the packages on Python's path."""
    offered = dict[str, tuple[Entry, ...]]()
    for place in map(Path, sys.path):
        with suppress(OSError):
            for package, its in _entries_in(place, place.stat().st_mtime_ns).items():
                offered.setdefault(package, its)  # the first of a name hides others
    return [entry for its in offered.values() for entry in its if group in ("", entry.group)]


@lru_cache(maxsize=64)
def _entries_in(place: Path, _changed_ns: int) -> dict[str, tuple[Entry, ...]]:
    """Return the entry points for BiFE of each package in a folder."""
    offered = dict[str, tuple[Entry, ...]]()
    for name in sorted(file.name for file in os.scandir(place)):
        package, _, kind = name.rpartition(".")
        if kind in ("dist-info", "egg-info"):
            key = package.partition("-")[0].lower().replace(".", "_")
            offered.setdefault(key, tuple(_entries_of(place / name)))
    return offered


def _entries_of(metadata: Path) -> Iterator[Entry]:
    with suppress(OSError):
        text = (metadata / "entry_points.txt").read_text(encoding="utf-8", errors="replace")
        group = ""
        for line in map(str.strip, text.splitlines() if "[bife." in text else ()):
            name, equals, where = line.partition("=")
            if line.startswith("["):
                group = line.strip("[]")
            elif equals and group.startswith("bife."):
                yield Entry(group, name.strip(), where.strip(), metadata)


@dataclass(eq=False, repr=False)
class Plugins(UserDict[str, Plugin]):
    """All plugins of one kind by name; each is loaded on first use.

    Another package adds one by an entry point in `group`, a script by item assignment. `kind` is the noun for one, such
    as ``search``; `builtin` has BiFE's, each as ``module:object``; `fits` tests a loaded object and `form` names what
    is expected; `also` has further names that a setting may hold, such as ``folder``.
    """

    kind: str
    group: str
    builtin: Mapping[str, str]
    fits: Callable[[Any], bool]
    form: str
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__init__()  # `data` holds those that are loaded

    def required(self, name: str) -> str:
        """Return `name` if it is one of `names`, else raise a ValueError; for validators."""
        if name not in self.names:
            raise ValueError(self._none(name))
        return name

    def find(self, name: str) -> Plugin:
        """Return the plugin of that name; raise ConfigError if there is none or its package is broken."""
        if name not in self:
            raise ConfigError(f"{self._none(name)}.")
        return self[name]

    @property
    def names(self) -> list[str]:
        """All names a setting may hold."""
        return [*self, *self.also]

    @property
    def foreign(self) -> list[str]:
        """Names other packages offer."""
        return [name for name in self if name not in self.builtin]

    def listed(self) -> list[tuple[str, str]]:
        """Return name and package with its version, of each plugin."""
        offered = self._entries
        return [(name, offered[name].package if name in offered else "this process") for name in self]

    def revision(self, name: str) -> str:
        """Return the `code_revision` of a plugin, without loading one of BiFE's own."""
        return code_revision(self[name]) if name in self.foreign else ""

    def offer(self, schema: dict[str, Any]) -> None:
        """Enter the names into the JSON schema of a setting."""
        schema["enum"] = self.names

    def __missing__(self, name: str) -> Plugin:
        self[name] = self._load(self._entries[name])
        return self[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.data or name in self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._entries, **self.data})

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _none(self, name: str) -> str:
        return f"There is no {self.kind} {name!r}; choose one of {', '.join(self.names)}"

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        offered = {name: Entry(self.group, name, where) for name, where in self.builtin.items()}
        for entry in entries(self.group):
            first = offered.setdefault(entry.name, entry)
            if first is not entry:
                raise ConfigError(
                    f"{first.package} and {entry.package} both offer a {self.kind} {entry.name!r}; "
                    "uninstall one of them."
                )
        return offered

    def _load(self, entry: Entry) -> Plugin:
        def broken(problem: str) -> ConfigError:
            return ConfigError(f"The {self.kind} {entry.name!r} of {entry.package} {problem}.")

        try:
            loaded: Plugin = resolve_name(entry.where)
        except Exception as error:  # importing a package may raise anything
            advice = "update or uninstall it"
            if missing := _OF_EXTRAS.get(getattr(error, "name", None) or ""):
                advice = f"run `pip install 'bife-branching[{missing}]'`"
            elif entry.metadata is None:
                raise
            reason = f"{type(error).__name__}: {error}".rstrip(".: ")
            raise broken(f"cannot be loaded ({reason}); {advice}") from error
        if entry.metadata is not None and not self.fits(loaded):
            raise broken(f"must be {self.form}, but {entry.where} is {type(loaded).__name__}")
        return loaded


def plugin_packages() -> set[str]:
    """Return the packages that others offer plugins from: installing one is to trust its code."""
    return {entry.where.partition(":")[0].partition(".")[0] for entry in entries()}


def code_revision(plugin: Any) -> str:
    """Return the `revision` of a plugin, else a hash of its module; "" for BiFE's own."""
    name = getattr(plugin, "__module__", "") or ""
    if name.partition(".")[0] == "bife_core":
        return ""
    if (revision := getattr(plugin, "revision", None)) is not None:
        return str(revision)
    file = getattr(sys.modules.get(name), "__file__", None)
    code = getattr(plugin, "__code__", None)  # of a function typed into a notebook
    content = Path(file).read_bytes() if file is not None else b"" if code is None else code.co_code
    return hashlib.sha256(content).hexdigest()[:16]
