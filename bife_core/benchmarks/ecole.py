"""The four families as Ecole draws them, where the optional Ecole package imports."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bife_core.benchmarks.base import Split
from bife_core.benchmarks.generated import DrawnBenchmark, instance_stream
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
class EcoleBenchmark(DrawnBenchmark):
    """A family whose instances Ecole draws, each from a generator with a seed of its own.

    Raises
    ------
    ConfigError
        If Ecole cannot be imported, or cannot draw models of this size.
    """

    def __post_init__(self) -> None:
        self._arguments()
        import_ecole()

    @property
    def notes(self) -> tuple[str, ...]:
        """Whose instances these are."""
        return (f"Instances of {self.family.name} are drawn by Ecole.",)

    def _recipe(self) -> str:
        return "by-ecole"

    def _kind(self) -> str:
        return f"{self.size}-ecole"

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
        if self.family.name not in _GENERATORS:
            raise ConfigError(f"Ecole cannot draw {self.family.name}; it knows {', '.join(_GENERATORS)}.")
        _, names = _GENERATORS[self.family.name]
        unknown = [key for key in self.family.sizes[self.size] if key not in names]
        if unknown:
            raise ConfigError(
                f"Ecole cannot draw {self.family.name} of size {self.size!r}: it knows no {', '.join(unknown)}."
            )
        known = {names[key]: value for key, value in self.family.sizes[self.size].items()}
        return known | _FIXED.get(self.family.name, {})
