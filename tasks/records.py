"""What the tasks hand to one another: values that are small and serialise to JSON."""

from __future__ import annotations

from pathlib import Path

from bife_core.benchmarks.base import Instance
from bife_core.evolution import content_of
from bife_core.values import Value


class InstanceRef(Value):
    """An instance: where it lies, and the digest of its content."""

    name: str
    path: Path
    content: str

    @classmethod
    def of(cls, instance: Instance) -> InstanceRef:
        """Return the reference to an instance."""
        return cls(name=instance.name, path=instance.path, content=instance.digest)

    def instance(self) -> Instance:
        """Return the instance."""
        return Instance(self.name, self.path, self.content)


class InstanceSet(Value):
    """The instances of one split, in order, and what a reader of results must know about them."""

    label: str
    split: str
    instances: tuple[InstanceRef, ...]
    notes: tuple[str, ...] = ()

    @property
    def content(self) -> str:
        """Hash of the models in their order, wherever they lie."""
        return content_of(self.members)

    @property
    def members(self) -> tuple[Instance, ...]:
        """The instances themselves."""
        return tuple(reference.instance() for reference in self.instances)
