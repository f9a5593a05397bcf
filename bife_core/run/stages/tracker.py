"""What keeps studies where people look at them; without a plugin that is the store of the home alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from bife_core.base.errors import ConfigError
from bife_core.base.plugins import Plugins
from bife_core.registry.base import Registry
from bife_core.registry.evidence import RegisteredRule
from bife_core.registry.local import LocalRegistry
from bife_core.run.observer import TrackedRun
from bife_core.run.stages.records import Record, store_record
from bife_core.run.study.journal import claim_on
from bife_core.solver.machine import this_machine
from bife_core.store.home import Home


class Tracker:
    """Keeps the records of studies; another package offers a subclass in the entry-point group ``bife.trackers``.

    All methods but `require` and `facts` go on where the tracker is away: the store has everything, and `synchronise`
    writes the rest later. This one keeps nothing beside the store.
    """

    name = "the store"

    def __init__(self, home: Home) -> None:
        self.home = home

    @property
    def registry(self) -> Registry:
        """Registered rules."""
        return LocalRegistry(self.home)

    def require(self, wait_s: float = 0.0) -> None:
        """Raise `BifeError` if nothing can be recorded; one that is away is asked again for `wait_s` seconds."""

    def record(self, study: str, record: Record) -> TrackedRun:
        """Store a record, whose files lie in the folder of a study, and copy it."""
        with self.home.store.claim(claim_on(study)):
            return self.show(study, record)

    def show(self, study: str, record: Record) -> TrackedRun:
        """Do so for the holder of the claim on the study; of a record that is under way only its state is stored."""
        store_record(self.home.store, study, record, self.provenance())
        return TrackedRun()

    def follow(self, study: str) -> TrackedRun:
        """Copy the events of a search that are not copied yet."""
        return TrackedRun()

    def synchronise(self, reason: str, *, by_person: bool = False, of: str | None = None) -> str:
        """Copy what is left of all studies; return a sentence, "NAME lacks ...", on what is left still.

        Searches that no process works on are closed with a `reason`; of a run `of` of the conductor its own alone.
        """
        return ""

    def facts(self, run_id: str) -> Mapping[str, str]:
        """Return params and tags of a run, and as `parent_run` the one it is below; a `BifeError` if there is none."""
        raise ConfigError(f"runs:/{run_id} is a run of a tracker, and none is in use here; give a file.")

    def page_of(self, rule: RegisteredRule) -> str:
        """Return the address of a registered version, empty if it has no page."""
        return ""

    def provenance(self) -> dict[str, str]:
        """Return what records say of this process."""
        machine = this_machine()
        return {"machine.digest": machine.digest} | {
            f"{part}.version": machine.versions[part] for part in ("bife", "scip", "pyscipopt", "python")
        }


TRACKERS: Final[Plugins[type[Tracker]]] = Plugins(
    "tracker",
    "bife.trackers",
    {"store": "bife_core.run.stages.tracker:Tracker"},
    lambda plugin: isinstance(plugin, type) and issubclass(plugin, Tracker),
    "a subclass of bife_core.run.stages.tracker.Tracker",
)


def tracker_of(home: Home, default: str = "store") -> Tracker:
    """Return the tracker of a home that ``BIFE_TRACKER`` names, or the default."""
    return TRACKERS.find(os.environ.get("BIFE_TRACKER") or default)(home)
