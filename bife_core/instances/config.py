"""The section `instances` of the configuration, and the families it may name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, Field, model_validator

from bife_core.base.plugins import Plugins
from bife_core.base.values import Value
from bife_core.instances.base import Family

FAMILIES: Final[Plugins[Family]] = Plugins(
    "benchmark",
    "bife.families",
    {
        "set_covering": "bife_core.instances.families.set_covering:FAMILY",
        "combinatorial_auction": "bife_core.instances.families.combinatorial_auction:FAMILY",
        "independent_set": "bife_core.instances.families.independent_set:FAMILY",
        "facility_location": "bife_core.instances.families.facility_location:FAMILY",
        "item_placement": "bife_core.instances.families.item_placement:FAMILY",
        "network_verification": "bife_core.instances.families.network_verification:FAMILY",
        "transmission_switching": "bife_core.instances.families.transmission_switching:FAMILY",
        "unit_commitment": "bife_core.instances.families.unit_commitment:FAMILY",
    },
    lambda found: isinstance(found, Family),
    "a `Family`",
    also=("folder",),
)


class InstancesConfig(Value):
    """Which instances are solved."""

    benchmark: str = Field(
        "combinatorial_auction",
        description="Registered family, or 'folder'.",
        json_schema_extra=FAMILIES.offer,
    )
    size: str = Field(
        "test", description="A size of the family: 'tiny', 'test', 'transfer', or another it names."
    )
    folder: Annotated[Path, AfterValidator(Path.absolute)] | None = Field(
        None, description="Directory of .mps/.lp/.cip instances when benchmark='folder'."
    )
    groups: str | None = Field(
        None,
        description="Which instances of the folder depend on each other, by their paths: those with the same match of "
        "this regular expression, or of its first capture group.",
    )
    seed: int = Field(0, ge=0, description="Seed all instances and the split of a folder are derived from.")

    @model_validator(mode="after")
    def _folder_goes_with_folder(self) -> InstancesConfig:
        if (self.benchmark == "folder") != (self.folder is not None):
            raise ValueError("'folder' and benchmark='folder' go together: give both or neither")
        if self.groups is not None and self.folder is None:
            raise ValueError("'groups' are those of a folder's instances; a family knows its own")
        return self

    @property
    def label(self) -> str:
        """Short name used in run names and for the registered model."""
        return self.folder.resolve().name if self.folder is not None else self.benchmark

    @property
    def kind(self) -> str:
        """What is solved, in words for a model; what a folder is called stays here."""
        return "a folder of instances, alike in structure" if self.folder is not None else self.benchmark
