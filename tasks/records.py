"""What the tasks hand to one another: values that are small and serialise to JSON."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import Field

from bife_core.benchmarks.base import Instance
from bife_core.config import BudgetConfig
from bife_core.fidelity.high import HighScore
from bife_core.fidelity.low import LowScore
from bife_core.generators.base import Generation
from bife_core.search import ReflectionRequest, Sample, SampleRequest
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
        text = "\n".join(instance.content for instance in self.instances)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class SampleRecord(Value):
    """All that is known of one sample or reflection: what was asked, what was written, what became of it."""

    request: SampleRequest | ReflectionRequest = Field(discriminator="kind")
    generation: Generation | None = None
    low: LowScore | None = None
    high: HighScore | None = None
    sample: Sample | None = None


class Allowance(Value):
    """What the next rule of a search may cost.

    Attributes
    ----------
    until_unix_s : float or None
        Nothing is begun after that time.
    refused : str or None
        Why no rule may be written at all; one that was written before is still given.
    """

    budget: BudgetConfig = BudgetConfig()
    until_unix_s: float | None = None
    refused: str | None = None
