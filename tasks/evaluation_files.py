"""Files an evaluation leaves for its reader, and how they are found again: solves, page, tables, the search behind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bife_core import plots, report as reports
from bife_core.errors import BifeError
from bife_core.evaluation.summary import EvaluationSummary
from bife_core.files import write_whole
from bife_core.methods.base import Method
from bife_core.methods.configuration import Configuration
from bife_core.methods.loading import BUDGET, branching_of
from bife_core.methods.stored import RUN_REFERENCE
from bife_core.registry.evidence import Origin
from bife_core.report import Report, ReportFigure, SearchRecord, Story
from bife_core.search.population import ranked
from bife_core.study import Opened, files as search_files
from bife_core.study.archive import descent
from bife_core.study.journal import read_journal
from bife_core.wording import as_markdown
from tasks.home import RECORD, RUN_ID, evaluation_at, project_home
from tasks.stores import home_store, mlflow_run

STORY: Final = "story.json"
PAGE: Final = "report.html"
TABLES: Final = ("tables.md", "tables.tex")


def write_evaluation(folder: Path, summary: EvaluationSummary, lead: Method, story: Story) -> None:
    """Write the record of an evaluation that `lead` leads, and what its report is made from."""
    write_whole(folder / lead.file_name, lead.text)
    for label, file in summary.settings_files.items():
        method = summary.methods[label]
        write_whole(folder / file, method.settings if isinstance(method, Configuration) else method.text)
    write_whole(folder / STORY, story.model_dump_json())
    write_whole(folder / RECORD, summary.model_dump_json())


def write_report(folder: Path, report: Report) -> tuple[ReportFigure, ...]:
    """Write tables, the figure of costs and last the page of one evaluation, or of several; return all figures."""
    figures = reports.report_figures(report)
    write_whole(folder / TABLES[0], f"{as_markdown(report.conclusion)}\n\n{reports.report_markdown(report)}")
    write_whole(folder / TABLES[1], reports.report_latex(report))
    # MLflow shows pictures, but no page: the most telling one stands beside it.
    plots.save(figures[0].figure, folder, "costs", formats=("png",))
    write_whole(folder / PAGE, reports.render_page(report, figures))
    return figures


def read_summary(folder: Path) -> EvaluationSummary:
    """Return the record of an evaluation, or raise `BifeError` if there is none that can be read."""
    try:
        return EvaluationSummary.model_validate_json((folder / RECORD).read_bytes())
    except ValueError as error:
        raise BifeError(
            f"A record of an evaluation cannot be read, expected one of `bife evaluate`: {error}"
        ) from error


def search_behind(reference: str, method: Method) -> tuple[Origin, SearchRecord | None]:
    """Return the search a rule came from, for the registry and for a report, as far as it is known.

    It is that of its file's folder, its MLflow run, or its registered version. Which of its samples the rule is, its
    hash says. A `TrackingError` says that MLflow cannot be asked about a reference it holds.
    """
    from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

    from tasks.registry.reading import registered
    from tasks.tracking.store import run_data

    origin = Origin()
    if reference.startswith("models:/"):
        tags = registered(reference).tags
        origin = Origin.model_validate(
            {name: tags[name] for name in Origin.model_fields.keys() & tags.keys()}
        )
    elif run := RUN_REFERENCE.fullmatch(reference):
        tags = run_data(run["run"]).tags
        if found := tags.get("evolution_key"):
            origin = Origin(evolution_key=found, evolution_run=tags.get(MLFLOW_PARENT_RUN_ID, run["run"]))
    path = Path(reference.partition(BUDGET)[0]).resolve()
    key = origin.evolution_key
    folder = project_home().runs / key if key else search_files.folder_of(path)
    samples, cost = search_files.read_samples(folder), search_files.read_cost(folder)
    shas = {method.identity, branching_of(method).identity}
    best = next((sample for sample in ranked(samples or ()) if sample.valid and sample.sha in shas), None)
    if samples is None or cost is None or best is None:
        return origin, None
    opened, _ = next(read_journal(home_store(), folder.name), (None, 0))
    known = opened if isinstance(opened, Opened) else Opened(key=folder.name)
    origin = Origin(
        evolution_key=known.key,
        evolution_run=origin.evolution_run or mlflow_run(known.key),
        f_lf=best.f_lf,
        f_hf=best.f_hf,
        cost=known.params.get("high.cost", ""),
        decisions_digest=known.params.get("decisions", ""),
        lineage=descent(best, samples),
    )
    record = SearchRecord(name=cost.search, best=best.id, samples=samples, cost=cost, origin=known.origin)
    return origin, record


def load_report(references: Sequence[str]) -> tuple[Report, Path]:
    """Return the report on evaluations, and the folder of the last; without references on the newest one.

    References are ids of MLflow runs, folders, or ``evaluation.json`` files; a `BifeError` says that one is no
    evaluation that can be read. Without references there has to be an evaluation.
    """
    folders = [*map(_folder, references)] or project_home().evaluations()[-1:]
    evaluations = tuple(map(read_summary, folders))
    stories = tuple(Story.model_validate_json((folder / STORY).read_bytes()) for folder in folders)
    return Report(evaluations=evaluations, stories=stories), folders[-1]


def _folder(reference: str) -> Path:
    if (run := RUN_ID.fullmatch(reference)) is None:
        return evaluation_at(Path(reference))
    from tasks.tracking.store import run_data  # MLflow, which a page that is drawn again does not need

    return evaluation_at(project_home().runs / f"evaluation-{run_data(run[1]).tags.get('bife.key', '')}")
