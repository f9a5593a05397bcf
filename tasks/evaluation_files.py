"""Files an evaluation leaves for its reader, and how they are found again: solves, page, tables, the search behind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

import mlflow
from mlflow.exceptions import MlflowException
from pydantic import BaseModel

from bife_core import plots
from bife_core.errors import BifeError
from bife_core.evaluation.choosing import Choice
from bife_core.evaluation.summary import EvaluationSummary
from bife_core.files import write_whole
from bife_core.methods.base import Method
from bife_core.report import (
    Report,
    ReportFigure,
    SearchRecord,
    Story,
    render_page,
    report_figures,
    report_latex,
    report_markdown,
)
from bife_core.store import DATABASE, Store, StoreError
from bife_core.study import JournalError, Opened
from bife_core.study import files as search_files
from bife_core.study.journal import read_journal
from tasks.home import project_home
from tasks.registry import registered, run_data
from tasks.stores import home_store
from tasks.tracking import store

V = TypeVar("V", bound=BaseModel)

RECORD: Final = "evaluation.json"
STORY: Final = "story.json"
PAGE: Final = "report.html"
TABLES: Final = ("tables.md", "tables.tex")
VALIDATION: Final = "validation.json"
"""How a search's final rule was chosen, beside the rule in the search's folder, and in that of its evaluation."""

_RUN: Final = re.compile(r"(?:runs:/)?([0-9a-f]{32})")


def write_evaluation(directory: Path, summary: EvaluationSummary, lead: Method, story: Story) -> list[Path]:
    """Write the record of an evaluation that `lead` leads, its page, tables and figure of costs; return the files."""
    earlier = _read(directory / STORY, Story)
    # An evaluation that a person repeats knows the rule's file, but not how a pipeline had chosen the rule.
    if earlier is not None and any(search.chosen for search in earlier.searches):
        story = story.model_copy(update={"searches": earlier.searches})
    report = Report(evaluations=(summary,), stories=(story,))
    figures = report_figures(report)
    return [
        *write_report(directory, report, figures),
        _write(directory / RECORD, summary.model_dump_json()),
        _write(directory / STORY, story.model_dump_json()),
        _write(directory / lead.file_name, lead.text),
        # MLflow shows pictures, but no page: the most telling one stands beside it.
        *plots.save(figures[0].figure, directory, "costs", formats=("png",)),
    ]


def write_report(directory: Path, report: Report, figures: tuple[ReportFigure, ...]) -> list[Path]:
    """Write page and tables of one evaluation, or of several together; return the files."""
    directory.mkdir(parents=True, exist_ok=True)
    return [
        _write(directory / PAGE, render_page(report, figures)),
        _write(directory / TABLES[0], f"{report.conclusion}\n\n{report_markdown(report)}"),
        _write(directory / TABLES[1], report_latex(report)),
    ]


def write_validation(folder: Path, choice: Choice) -> None:
    """Write into a search's folder how its final rule was chosen."""
    write_whole(folder / VALIDATION, choice.model_dump_json(indent=1))


def read_validation(reference: str) -> Choice | None:
    """Return how the rule in a search's folder was chosen, or None if no readable file holds that."""
    path = Path(reference)
    choice = _read(path.with_name(VALIDATION), Choice) if path.suffix == ".py" else None
    return choice if choice is not None and choice.chosen == path.stem else None


def as_first_measured(directory: Path, summary: EvaluationSummary) -> EvaluationSummary:
    """Return a summary with day and duration of the run that did its solves, if that run wrote them down."""
    first = _read(directory / RECORD, EvaluationSummary)
    if first is None or first.rows != summary.rows:
        return summary
    kept = ("measured_at", "seconds", "reused", "workers")
    return summary.model_copy(update={name: getattr(first, name) for name in kept})


def abstract(summary: EvaluationSummary) -> str:
    """Return what stands on the page of the run in MLflow."""
    table = report_markdown(Report(evaluations=(summary,)))
    return f"{summary.conclusion}\n\n{table}\nThe whole report: {PAGE}"


def search_behind(reference: str) -> SearchRecord | None:
    """Return the search a rule came from: by its file's folder, its MLflow run, or its registered version.

    Raises
    ------
    TrackingError
        If MLflow cannot be asked about a reference it holds.
    """
    if reference.startswith(("runs:/", "models:/")):
        run = reference.startswith("runs:/")
        tags = run_data(reference.split("/")[1]).tags if run else registered(reference).tags
        key = tags.get("evolution_key", "")
        return _search_record(project_home().runs / key) if key else None
    path = Path(reference)
    record = _search_record(path.parent) if path.suffix == ".py" else None
    if record is not None and any(sample.id == path.stem for sample in record.samples):
        return record.model_copy(update={"best": path.stem})
    return record


def _search_record(directory: Path) -> SearchRecord | None:
    """Return the search whose files lie in a directory, or None if there is none that can be read."""
    samples, cost = search_files.read_samples(directory), search_files.read_cost(directory)
    # Without the files that are written together, a file of that name is not a search's.
    if samples is None or not (directory / search_files.COST).is_file():
        return None
    best = next((sample.id for sample in search_files.ranked(samples) if sample.failure is None), "")
    name = cost.search if cost is not None else "search"
    return SearchRecord(name=name, best=best, samples=samples, cost=cost, origin=_origin(directory))


def _origin(directory: Path) -> str:
    try:
        own = (directory / DATABASE).exists()
        events = Store(directory) if own else home_store()
        for row in events.studies("evolution"):
            if own or row.key == directory.name:
                opened, _ = next(read_journal(events, row.key))
                return opened.origin if isinstance(opened, Opened) else ""
    except (JournalError, StoreError, StopIteration):  # no report is lost for it
        pass
    return ""


def load_report(references: Sequence[str]) -> tuple[Report, Path]:
    """Return the report on evaluations, and the directory of the last; without references on the newest one.

    Parameters
    ----------
    references : sequence of str
        Ids of MLflow runs, directories, or ``evaluation.json`` files.

    Raises
    ------
    BifeError
        If there is no such evaluation, or it cannot be read.
    """
    directories = [_directory(reference) for reference in references] or [_newest()]
    try:
        evaluations = tuple(
            EvaluationSummary.model_validate_json((place / RECORD).read_bytes()) for place in directories
        )
    except FileNotFoundError as error:
        raise BifeError(f"{error.filename} is missing; give the id of an evaluation's run.") from error
    except ValueError as error:
        raise BifeError(
            f"A record of an evaluation cannot be read, expected one of `bife evaluate`: {error}"
        ) from error
    stories = tuple(filter(None, (_read(place / STORY, Story) for place in directories)))
    return Report(evaluations=evaluations, stories=stories), directories[-1]


def _directory(reference: str) -> Path:
    match = _RUN.fullmatch(reference)
    if match is None:
        path = Path(reference)
        return path.parent if path.is_file() else path
    key = run_data(match[1]).tags.get("bife.key", "")
    local = project_home().runs / f"evaluation-{key}"
    if (local / RECORD).is_file():
        return local
    try:
        return Path(mlflow.artifacts.download_artifacts(run_id=match[1], dst_path=str(local)))
    except (MlflowException, OSError) as error:
        raise store.TrackingError(
            f"The files of run {match[1]} cannot be had ({store.first_line(error)})."
        ) from error


def _newest() -> Path:
    found = sorted(
        project_home().runs.glob(f"evaluation-*/{RECORD}"), key=lambda path: path.stat().st_mtime_ns
    )
    if not found:
        raise BifeError("No evaluation has been made yet; `bife evaluate --rule REF` makes one.")
    return found[-1].parent


def _read(path: Path, kind: type[V]) -> V | None:
    """Return what a file holds; None if it is missing, damaged, or of another version."""
    try:
        return kind.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def _write(path: Path, text: str) -> Path:
    write_whole(path, text)
    return path
