"""Plugins by name: those of BiFE and those that other packages offer."""

from __future__ import annotations

import hashlib
import sys
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bife_core.base.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint  # which takes as long to load as a rule to compile

Plugin = TypeVar("Plugin")

_OF_EXTRAS: Final = {"httpx2": "llm", "openai": "llm", "pydantic_settings": "llm"}
"""Packages that only some of BiFE's own plugins import, and the extra that brings each."""


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
        entries = self._entries
        return [(name, _package(entries[name]) if name in entries else "this process") for name in self]

    def revision(self, name: str) -> str:
        """Return the `code_revision` of a plugin, without loading one of BiFE's own."""
        return code_revision(self[name]) if name in self.foreign else ""

    def offer(self, schema: dict[str, Any]) -> None:
        """Enter the names into the JSON schema of a setting."""
        schema["enum"] = self.names

    def __missing__(self, name: str) -> Plugin:
        self[name] = self._load(name)
        return self[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.data or name in self.builtin or name in self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter({**self._entries, **self.data})

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _none(self, name: str) -> str:
        return f"There is no {self.kind} {name!r}; choose one of {', '.join(self.names)}"

    @cached_property
    def _entries(self) -> dict[str, EntryPoint]:
        from importlib.metadata import EntryPoint, entry_points

        offered = {name: EntryPoint(name, where, self.group) for name, where in self.builtin.items()}
        for entry in entry_points(group=self.group):
            first = offered.setdefault(entry.name, entry)
            if first is not entry:
                raise ConfigError(
                    f"{_package(first)} and {_package(entry)} both offer a {self.kind} {entry.name!r}; "
                    "uninstall one of them."
                )
        return offered

    def _load(self, name: str) -> Plugin:
        # BiFE's own need no look at all packages that are installed.
        entry = None if name in self.builtin else self._entries[name]
        of = f"The {self.kind} {name!r} of {'BiFE' if entry is None else _package(entry)}"
        try:
            loaded: Plugin = resolve_name(self.builtin[name]) if entry is None else entry.load()
        except Exception as error:  # importing a package may raise anything
            advice = "update or uninstall it"
            if missing := _OF_EXTRAS.get(getattr(error, "name", None) or ""):
                advice = f"run `pip install 'bife-branching[{missing}]'`"
            elif entry is None:
                raise
            reason = f"{type(error).__name__}: {error}".rstrip(".: ")
            raise ConfigError(f"{of} cannot be loaded ({reason}); {advice}.") from error
        if entry is not None and not self.fits(loaded):
            raise ConfigError(f"{of} must be {self.form}, but {entry.value} is {type(loaded).__name__}.")
        return loaded


def plugin_packages() -> set[str]:
    """Return the packages that others offer plugins from: installing one is to trust its code."""
    from importlib.metadata import entry_points

    groups = [group for group in entry_points().groups if group.startswith("bife.")]
    return {entry.module.partition(".")[0] for group in groups for entry in entry_points(group=group)}


def _package(entry: EntryPoint) -> str:
    if entry.dist is None:
        return "BiFE"
    # A folder on PYTHONPATH may have nothing but entry points.
    if not any(map(entry.dist.read_text, ("METADATA", "PKG-INFO"))):
        return f"{entry.module.partition('.')[0]} (not installed)"
    return f"{entry.dist.name} {entry.dist.version}"


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
