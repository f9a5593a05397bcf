"""A run told to its log on Prefect's page: for runs that nobody watches from a terminal."""

from __future__ import annotations

import logging
from typing import TypeAlias

from prefect.exceptions import MissingContextError
from prefect.logging import get_run_logger

from bife_core.study import EvolutionState
from flows.reporting.observer import Observer

_Logger: TypeAlias = "logging.Logger | logging.LoggerAdapter[logging.Logger]"


class RunLog(Observer):
    """Writes what it is told into the log of the run that goes on; made inside a flow run."""

    def __init__(self) -> None:
        self._of_the_run = get_run_logger()

    def stage(self, name: str, about: str) -> None:
        """Log that a stage begins."""
        self._logger.info("%s: %s", name, about)

    def activity(self, text: str) -> None:
        """Log what is done now."""
        self._logger.info("%s", text)

    def generation(self, state: EvolutionState) -> None:
        """Log where the search stands."""
        best = "" if state.best_f_hf is None else f", best F_HF {state.best_f_hf:.4g}"
        rules = f"{state.samples_total} of {state.budget} rules, {state.failures_total} of them out"
        self._logger.info("Generation %d: %s%s", state.generation, rules, best)

    def note(self, text: str) -> None:
        """Log what a person should know."""
        self._logger.warning("%s", text)

    @property
    def _logger(self) -> _Logger:
        try:
            return get_run_logger()
        except MissingContextError:  # told from a thread of ours that belongs to no run
            return self._of_the_run
