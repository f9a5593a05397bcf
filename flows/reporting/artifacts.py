"""What Prefect's pages show of a run: a bar, the population, the anytime curve, and at the end the conclusion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast
from uuid import UUID

import httpx
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.exceptions import PrefectException

from bife_core.errors import BifeError
from bife_core.search import CostPoint
from bife_core.study import EvolutionState
from bife_core.study.files import sample_rows
from bife_core.wording import storable
from tasks.stores import observer
from tasks.tracking.store import first_line

_TABLE_COLUMNS = ("id", "f_hf", "f_lf", "operator", "generation", "parents", "failure", "thought")
_TABLE_ROWS = 50


def artifact_key(*parts: str) -> str:
    """Return a key as Prefect wants them: lower case, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-") or "run"


def _shown(value: object) -> object:
    return storable(value) if isinstance(value, str) else value


@contextmanager
def showing() -> Iterator[None]:
    """Go on with a note if there is no artifact, or Prefect's API does not take it."""
    try:
        yield
    except (httpx.HTTPError, PrefectException, BifeError, OSError) as error:
        observer().note(f"Prefect did not take what its pages would show ({first_line(error)}).")


class EvolutionPage:
    """The artifacts of one evolution; those of a benchmark share their keys, so that Prefect keeps their history.

    `links` are the addresses, in Markdown, of the same rules in MLflow.
    """

    def __init__(self, label: str, links: str) -> None:
        self._label, self._links = label, links
        self._bar: UUID | None = None
        self._drawn: tuple[CostPoint, ...] = ()

    def generation(self, state: EvolutionState) -> None:
        """Bring bar, table and, if a better rule was found, the anytime curve to where a generation ended."""
        percent = min(100.0, 100.0 * state.samples_total / state.budget)
        rows = sample_rows(state.rules)[:_TABLE_ROWS]
        with showing():
            if self._bar is None:
                key = artifact_key("progress", self._label)
                # Prefect's stubs allow for an asynchronous caller; here it returns the id.
                self._bar = cast(UUID, create_progress_artifact(percent, key=key, description=state.sentence))
            else:
                update_progress_artifact(self._bar, progress=percent, description=state.sentence)
            create_table_artifact(
                [{name: _shown(row[name]) for name in _TABLE_COLUMNS} for row in rows],
                key=artifact_key("population", self._label),
                description=f"Rules after generation {state.generation}, best first. {self._links}",
            )
            if state.curve and state.curve != self._drawn:
                self._drawn = state.curve
                create_table_artifact(
                    [
                        {"CPU seconds": round(at.solver_s, 1), "best F_HF": at.f_hf, "rule": at.sample}
                        for at in state.curve
                    ],
                    key=artifact_key("anytime", self._label),
                    description=f"Best F_HF so far over CPU seconds in the solver. {self._links}",
                )


def show_conclusion(label: str, stage: str, markdown: str) -> None:
    """Write the conclusion of a stage where Prefect's reader looks first."""
    about = f"Conclusion of the {stage} on {label}"
    with showing():
        create_markdown_artifact(storable(markdown), key=artifact_key(stage, label), description=about)
