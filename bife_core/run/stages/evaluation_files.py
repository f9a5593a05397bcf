"""Files an evaluation leaves for its reader, and how they are found again: solves, page, tables, the search behind."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from bife_core.base.errors import BifeError
from bife_core.base.files import check_outputs, write_whole
from bife_core.base.values import describe
from bife_core.base.wording import as_markdown
from bife_core.measure.evaluation.summary import EvaluationSummary
from bife_core.registry.evidence import Origin
from bife_core.run.show import plots, report as reports
from bife_core.run.show.report import Report, ReportFigure, SearchRecord, Story
from bife_core.run.stages.runtime import Runtime
from bife_core.run.study import JournalError, Opened, files as search_files
from bife_core.run.study.archive import descent
from bife_core.run.study.journal import Completed, Ended, Samples, read_journal
from bife_core.search.population import ranked
from bife_core.search.types import Entry
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import BUDGET, RUN_FILES, RUN_REFERENCE, parts_of
from bife_core.store import DATABASE, Store
from bife_core.store.home import RECORD, RUN_ID, evaluation_at

T = TypeVar("T", bound=BaseModel)

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
    check_outputs([folder / name for name in (*TABLES, PAGE)])
    figures = reports.report_figures(report)
    write_whole(folder / TABLES[0], f"{as_markdown(report.conclusion)}\n\n{reports.report_markdown(report)}")
    write_whole(folder / TABLES[1], reports.report_latex(report))
    # Trackers show pictures, but no page: the most telling one stands beside it.
    plots.save(figures[0].figure, folder, "costs", formats=("png",))
    write_whole(folder / PAGE, reports.render_page(report, figures))
    return figures


def read_summary(folder: Path) -> EvaluationSummary:
    """Return the record of an evaluation, or raise `BifeError` if there is none that can be read."""
    return _read(folder / RECORD, EvaluationSummary)


def _read(path: Path, kind: type[T]) -> T:
    try:
        return kind.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise BifeError(
            f"{path} cannot be read, expected a file of `bife evaluate` of this version: {describe(error)}"
        ) from error


def sample_name(reference: str, runtime: Runtime) -> str | None:
    """Return the sample's id, such as ``g02-c03``, of the rule of a run; None for other references."""
    match = RUN_REFERENCE.fullmatch(reference)
    if match is None:
        return None
    if match["file"] and match["file"] not in RUN_FILES:
        return Path(match["file"]).stem
    facts = runtime.tracker.facts(match["run"])
    return facts.get("best_sample") or facts.get("sample_id") or facts.get("rule")


def search_behind(
    reference: str | Method, method: Method, runtime: Runtime, found_by: str = ""
) -> tuple[Origin, SearchRecord | None]:
    """Return the search that a file, run or version of a method is from, if its end is known; or raise `BifeError`.

    What is no reference was `found_by` the search of that key.
    """
    origin, folder = Origin(), runtime.home.runs / found_by
    if isinstance(reference, str) and reference.startswith("models:/"):
        tags = runtime.registry.registered(reference).tags
        origin = Origin.model_validate(
            {name: tags[name] for name in Origin.model_fields.keys() & tags.keys()}
        )
    elif isinstance(reference, str) and (run := RUN_REFERENCE.fullmatch(reference)):
        facts = runtime.tracker.facts(run["run"])
        if search_key := facts.get("search_key"):
            runs = (facts.get("search_run"), facts.get("parent_run"), run["run"])
            origin = Origin(search_key=search_key, search_run=next(filter(None, runs)))
    if origin.search_key:
        folder = runtime.home.runs / origin.search_key
    elif isinstance(reference, str):
        folder = search_files.folder_of(Path(reference.partition(BUDGET)[0]).resolve())
    alone = (folder / DATABASE).is_file()  # a study without a home
    store = Store(folder) if alone else runtime.store
    keys = [row.key for row in store.studies("search") if alone or row.key == folder.name]
    samples, entries = Samples(), list[Entry]()
    with suppress(JournalError):
        entries = [entry for entry, _ in read_journal(store, keys[0])] if len(keys) == 1 else []
    for entry in entries:
        samples.read(entry)
    opened = next((entry for entry in entries if isinstance(entry, Opened)), None)
    ended = next((entry for entry in reversed(entries) if isinstance(entry, Ended)), None)
    settled, shas = ranked(samples.values()), {part.identity for part in parts_of(method)}
    best = next((sample for sample in settled if sample.valid and sample.sha in shas), None)
    if opened is None or ended is None or best is None:
        return origin, None
    origin = Origin(
        search_key=opened.key,
        search_run=origin.search_run,
        f_lf=best.f_lf,
        f_hf=best.f_hf,
        cost=opened.params.get("high.cost", ""),
        decisions_digest=opened.params.get("decisions", ""),
        lineage=descent(best, settled),
    )
    name, cost = ended.cost.search, ended.cost
    tau = next((entry.summary.tau for entry in reversed(entries) if isinstance(entry, Completed)), None)
    record = SearchRecord(name=name, best=best.id, samples=settled, cost=cost, origin=opened.origin, tau=tau)
    return origin, record


def load_report(references: Sequence[str], runtime: Runtime) -> tuple[Report, Path]:
    """Return the report on evaluations, the newest by default, and the folder of the last; or raise `BifeError`."""
    folders = [_folder(reference, runtime) for reference in references] or runtime.home.evaluations()[-1:]
    evaluations = tuple(map(read_summary, folders))
    stories = tuple(_read(folder / STORY, Story) for folder in folders)
    return Report(evaluations=evaluations, stories=stories), folders[-1]


def _folder(reference: str, runtime: Runtime) -> Path:
    if (run := RUN_ID.fullmatch(reference)) is None:
        return evaluation_at(Path(reference))
    key = runtime.tracker.facts(run[1]).get("bife.key", "")
    return evaluation_at(runtime.home.runs / f"evaluation-{key}")
