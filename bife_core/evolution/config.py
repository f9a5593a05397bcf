"""What an evolution reads of a configuration."""

from __future__ import annotations

from typing import Protocol

from bife_core.fidelity.config import HighFidelityConfig, LowFidelityConfig
from bife_core.generators.config import BudgetConfig, GeneratorConfig
from bife_core.search.config import SearchConfig


class EvolutionConfig(Protocol):
    """The sections of a `PipelineConfig` that a search goes by; anything that has them will do."""

    @property
    def search(self) -> SearchConfig:
        """Which search, and its settings."""
        ...

    @property
    def low(self) -> LowFidelityConfig:
        """How F_LF is measured."""
        ...

    @property
    def high(self) -> HighFidelityConfig:
        """How F_HF is measured."""
        ...

    @property
    def generator(self) -> GeneratorConfig:
        """Who writes the rules."""
        ...

    @property
    def budget(self) -> BudgetConfig:
        """What may be spent."""
        ...
