"""The four families as Ecole draws them, where the optional Ecole package imports."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bife_core.benchmarks.base import SPLITS, Family, Instance, Split
from bife_core.benchmarks.generated import instance_stream
from bife_core.benchmarks.store import fetch
from bife_core.errors import ConfigError
from bife_core.scip.ecole import import_ecole

_GENERATORS: Final[dict[str, tuple[str, Mapping[str, str]]]] = {
    "set_covering": (
        "SetCoverGenerator",
        {"rows": "n_rows", "columns": "n_cols", "density": "density", "max_cost": "max_coef"},
    ),
    "combinatorial_auction": ("CombinatorialAuctionGenerator", {"items": "n_items", "bids": "n_bids"}),
    "independent_set": ("IndependentSetGenerator", {"nodes": "n_nodes", "affinity": "affinity"}),
    "facility_location": (
        "CapacitatedFacilityLocationGenerator",
        {"customers": "n_customers", "facilities": "n_facilities", "ratio": "ratio"},
    ),
}
"""Family -> Ecole's generator, and what it calls our parameters."""

_FIXED: Final[dict[str, dict[str, Any]]] = {"independent_set": {"graph_type": "barabasi_albert"}}


@dataclass(frozen=True)
class EcoleBenchmark:
    """A family whose instances Ecole draws, each from a generator with a seed of its own.

    Attributes
    ----------
    family : Family
        Names the generator and its sizes; parameters Ecole does not know cannot be asked for.
    size : str
        One of the family's sizes.
    seed : int
        Shifts all streams.
    cache_dir : Path
        Below it the model files are kept.

    Raises
    ------
    ConfigError
        If Ecole cannot be imported, or cannot draw models of this size.
    """

    family: Family
    size: str
    seed: int
    cache_dir: Path

    def __post_init__(self) -> None:
        self._arguments()
        import_ecole()

    @property
    def name(self) -> str:
        """The family's name."""
        return self.family.name

    @property
    def notes(self) -> tuple[str, ...]:
        """Whose instances these are."""
        return (f"Instances of {self.family.name} are drawn by Ecole.",)

    def instances(self, split: Split, count: int) -> list[Instance]:
        """Return instances 0 to `count` - 1 of `split`.

        Raises
        ------
        ConfigError
            If there is no such split.
        InstanceError
            If a file cannot be written.
        """
        if split not in SPLITS:
            raise ConfigError(f"There is no split {split!r}; choose one of {', '.join(SPLITS)}.")
        return [self._instance(split, index) for index in range(count)]

    def _instance(self, split: Split, index: int) -> Instance:
        directory = self.cache_dir / self.family.name / f"{self.size}-by-ecole"
        path, digest = fetch(directory, f"s{self.seed}-{split}-{index:05d}", lambda: self._text(split, index))
        return Instance(f"{self.family.label}-{self.size}-ecole-{split}-{index:04d}", path, digest)

    def _text(self, split: Split, index: int) -> str:
        ecole = import_ecole()
        name, _ = _GENERATORS[self.family.name]
        seed = int(
            instance_stream(f"ecole:{self.family.name}", self.size, split, index, self.seed).randint(2**31)
        )
        generator = getattr(ecole.instance, name)(**self._arguments(), rng=ecole.RandomGenerator(seed))
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "model.mps"
            next(generator).write_problem(str(path))
            return path.read_text()

    def _arguments(self) -> dict[str, Any]:
        """Return the size's parameters under Ecole's names."""
        _, names = _GENERATORS.get(self.family.name, ("", {}))
        unknown = [key for key in self.family.sizes[self.size] if key not in names]
        if unknown:
            raise ConfigError(
                f"Ecole cannot draw {self.family.name} of size {self.size!r}: it knows no {', '.join(unknown)}."
            )
        known = {names[key]: value for key, value in self.family.sizes[self.size].items()}
        return known | _FIXED.get(self.family.name, {})
