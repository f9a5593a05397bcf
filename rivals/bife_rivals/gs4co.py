"""GS4CO: a transformer writes expressions over the bipartite graph of a node, and learns from those that imitate well.

Its runs, and what becomes of what they find, are those of Symb4CO (`bife_rivals.symb4co`). What differs from the
published method is in `docs/research/rivals.md`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from bife_core.extend import ConfigError, Value
from bife_rivals.symb4co import Symb4CoOptions, Symb4CoSearch
from bife_rivals.symb4co_training import Run, rule_of, trained


class Gs4CoOptions(Symb4CoOptions):
    """GS4CO's own settings: those of Symb4CO, with other defaults."""

    paper: ClassVar[dict[str, Any]] = {
        **{"batch": 512, "kept": 96, "steps": 10_000, "patience": 2000, "epochs": 10, "hidden": 32},
        **{"entropy": 0.2, "entropy_decay": 0.95, "soft_length": 32, "depth": 25},
    }
    quick: ClassVar[dict[str, Any]] = {
        **{"batch": 256, "kept": 12, "steps": 150, "patience": 100, "epochs": 5, "rate": 2e-3},
        **{"entropy": 0.02, "least_length": 8, "soft_length": 16, "most_length": 32},
    }

    hidden: int = Field(32, ge=4, multiple_of=4, description="Units of each layer, of four heads.")


class Gs4CoSearch(Symb4CoSearch):
    """GS4CO behind `ask` and `tell`.

    Examples
    --------
    >>> from bife_core.search.config import SearchConfig
    >>> request, *_ = Gs4CoSearch(SearchConfig(algorithm="gs4co", samples=30)).ask()
    >>> request.training["batch"], request.training["depth"]
    (512, 25)
    """

    Options: ClassVar[type[Value]] = Gs4CoOptions
    sees_nodes = True

    @staticmethod
    def train(decisions: Path | None, folder: Path, training: dict[str, Any]) -> dict[str, Any]:
        """Train a run, or find it trained, and return its expression of a rank."""
        try:
            from bife_rivals.gs4co_training import GraphTraining
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"The search gs4co trains with {error.name}, which is not installed; run pip install "
                "'bife-rivals[learned]' and start it again: what was recorded is kept."
            ) from error

        assert decisions is not None
        run = GraphTraining(Run.of(training), decisions)
        return rule_of(trained(run, folder), training["rank"], training["depth"])
