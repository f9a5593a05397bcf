"""The section `instances` of the configuration, and the families it may name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, Field, model_validator

from bife_core.base.plugins import Plugins
from bife_core.base.values import Value
from bife_core.instances.base import Family

_FAMILIES: Final = """
    set_covering combinatorial_auction independent_set facility_location network_design generalised_assignment
    lot_sizing item_placement network_verification transmission_switching unit_commitment
"""

FAMILIES: Final[Plugins[Family]] = Plugins(
    "family",
    "bife.families",
    {name: f"bife_core.instances.families.{name}:FAMILY" for name in _FAMILIES.split()},
    lambda plugin: isinstance(plugin, Family),
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
        None, description="Directory of .mps, .lp, .nl or other files when benchmark='folder'."
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
        """Short name in runs and of the registered model."""
        return self.folder.resolve().name if self.folder is not None else self.benchmark

    @property
    def kind(self) -> str:
        """What is solved, for language models; the name of a folder stays private."""
        return "a folder of instances, alike in structure" if self.folder is not None else self.benchmark
