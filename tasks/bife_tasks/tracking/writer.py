"""What the events of one study become in MLflow; writing an event again changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from mlflow.entities import Metric, Run
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID, MLFLOW_RUN_NOTE

from bife_core.language.rules import complexity
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import cost_of
from bife_core.measure.evaluation.metrics import METRICS
from bife_core.measure.high import HighScore
from bife_core.run.show import plots
from bife_core.run.stages.records import EVALUATION, SEARCH, Record
from bife_core.run.study import files as reports, journal
from bife_core.run.study.archive import descent
from bife_core.search import Draft, ReflectionRequest, Sample, SolveRequest, WrittenRequest
from bife_core.search.answers import Answered
from bife_core.search.generators.account import Account, Call, Spending
from bife_core.search.population import ranked
from bife_core.search.types import Entry
from bife_core.solver.methods.base import RPB
from bife_core.solver.methods.references import method_of
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.scip.solve import SolveResult
from bife_core.store.home import project_home
from bife_tasks.stores import home_store, mlflow_run
from bife_tasks.tracking import mlflow_runs
from bife_tasks.tracking.traces import delete_traces, store_traces

_ENDED: Final = ("FINISHED", "FAILED")
_FILES: Final = (reports.BEST_RULE, f"{reports.RULES}/*", "*.png", reports.COST)
"""Files of the folder that are artifacts when the search ends."""


@dataclass
class _Child:
    """What the events so far say of a sample or reflection."""

    tags: dict[str, str]
    params: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, Metric] = field(default_factory=dict)
    texts: dict[str, str | None] = field(default_factory=dict)
    status: str = "RUNNING"
    start_ms: int = 0
    end_ms: int = 0

    def measure(self, entry: Entry, values: dict[str, Any]) -> None:
        """Add metrics at the time of an event, but not those that an earlier event reported."""
        self.metrics = {point.key: point for point in mlflow_runs.points(values, _ms(entry))} | self.metrics


@dataclass
class _News:
    """What MLflow lacks: children that events name, those with a draft, and what changes in the search's own run."""

    children: set[str] = field(default_factory=set)
    drafted: set[str] = field(default_factory=set)
    metrics: list[Metric] = field(default_factory=list)
    tags: dict[str, str | None] = field(default_factory=dict)
    status: str = ""


def write_search(events: Sequence[tuple[Entry, int]], seen: int, seen_run: str) -> str:
    """Write the events of a search, which begin with `opened`, to its run in MLflow, found or made; return its id.

    It has a child run for each sample or reflection, and a trace for each call of a model. Events up to number `seen`
    are only read, if the run that has them is still there. `TRACKING_TROUBLE` is raised if MLflow is away or refuses.
    """
    opened, now_ms = events[0][0], _ms(events[-1][0])
    if not isinstance(opened, journal.Opened):
        raise mlflow_runs.TrackingError("The first event of a search does not say which search it is.")
    tags = {"kind": "search", "search_key": opened.key, **opened.tags}
    run = mlflow_runs.open_run(SEARCH, opened.key, opened.name, tags, start_ms=_ms(opened))
    run_id = str(run.info.run_id)
    if run_id != seen_run:
        mlflow_runs.log(run_id, params=opened.params)
        _delete_orphans(opened.key, run_id)
        mlflow_runs.log_datasets(run_id, opened.tags.get("benchmark", ""), opened.params)
    ended = isinstance(events[-1][0], journal.Ended)
    mlflow_runs.save_view(run_id, opened.name, _ms(opened), ended=ended)
    search = _Search(opened, Account(home_store(), opened.key).calls())
    for entry, seq in events:
        search.read(entry)
        if seq <= seen and run_id == seen_run:
            search.news = _News()
    traced = [call for call in search.calls if call.key in search.news.drafted]
    if search.news.status not in ("", "RUNNING"):
        search.abandon_open(now_ms)
        # Calls whose answer was not read; those without an operator were made for no request of a search.
        traced += [call for call in search.calls if call.key not in search.drafted and call.operator]
    for name, trace in store_traces(opened.key, traced, run_id, run_id).items():
        if name in search.children:
            search.children[name].tags["trace"] = trace
    written = {child.data.tags.get("sample_id", ""): child for child in mlflow_runs.children(run_id)}
    for name in sorted(search.news.children):
        tags = {"sample_id": name, "search_key": opened.key, MLFLOW_PARENT_RUN_ID: run_id}
        written[name] = _write_child(search.children[name], tags, written.get(name))
    if ended:
        solved = (sample for sample in ranked(search.samples.values()) if sample.f_hf is not None)
        for rank, sample in enumerate(solved, start=1):
            place = mlflow_runs.points({"rank": rank}, now_ms)
            mlflow_runs.log(written[sample.id].info.run_id, metrics=place)
    _write_parent(search, run_id, project_home().runs / opened.key, now_ms)
    return run_id


def _delete_orphans(key: str, run_id: str) -> None:
    """Delete samples and traces of a search whose former run was deleted, since the present one has them anew."""
    of_others = f"tags.search_key = '{key}' and tags.`{MLFLOW_PARENT_RUN_ID}` != '{run_id}'"
    orphans = mlflow_runs.find_runs(SEARCH, of_others)
    for orphan in orphans:
        mlflow_runs.client().delete_run(orphan.info.run_id)
    for former in {orphan.data.tags[MLFLOW_PARENT_RUN_ID] for orphan in orphans}:
        delete_traces(former)


def _write_child(child: _Child, tags: dict[str, str], run: Run | None) -> Run:
    if run is not None and run.info.status in _ENDED:
        return run
    if run is None:
        began_ms = child.start_ms or child.end_ms or None
        run = mlflow_runs.create_run(SEARCH, tags["sample_id"], tags | child.tags, began_ms)
    run_id = str(run.info.run_id)
    trace, result = child.tags.get("trace") or run.data.tags.get("trace"), child.tags.get("outcome")
    if trace and result:
        mlflow_runs.client().set_trace_tag(trace, "outcome", result)
        place = f"experiments/{mlflow_runs.experiment_id(SEARCH)}/traces"
        link = f"[The call that wrote it]({mlflow_runs.page(place, selectedEvaluationId=trace)})"
        child.tags[MLFLOW_RUN_NOTE] = f"{child.tags.get(MLFLOW_RUN_NOTE, '')}\n\n{link}"
    mlflow_runs.log(run_id, metrics=list(child.metrics.values()), params=child.params, tags=child.tags)
    mlflow_runs.log_texts(run_id, child.texts)
    if child.status != "RUNNING":
        mlflow_runs.client().set_terminated(run_id, child.status, child.end_ms)
    return run


def _write_parent(search: _Search, run_id: str, folder: Path, time_ms: int) -> None:
    client, news = mlflow_runs.client(), search.news
    written = {name: value for name, value in news.tags.items() if value is not None}
    mlflow_runs.log(run_id, metrics=news.metrics, tags=written)
    if len(written) < len(news.tags):
        for name in (news.tags.keys() - written.keys()) & client.get_run(run_id).data.tags.keys():
            client.delete_tag(run_id, name)
    if news.metrics:
        if news.status != "FINISHED" and any(
            c.f_lf is not None and c.f_hf is not None for c in search.samples.values()
        ):
            figure = plots.fidelity_scatter([*search.samples.values()], search.tau)
            client.log_figure(run_id, figure, f"{reports.FIDELITIES}.png")
        mlflow_runs.log_table(run_id, reports.sample_rows([*search.samples.values()]), reports.SAMPLES)
    if news.status == "FINISHED":
        mlflow_runs.log_files(run_id, [path for name in _FILES for path in folder.glob(name)])
    if news.status == "RUNNING":
        client.update_run(run_id, status="RUNNING")
    elif news.status:
        if search.solves:
            # What F_HF is computed from: one row per rule and design instance, RPB's first.
            rows = [row for rows in search.solves.values() for row in rows]
            mlflow_runs.log_table(run_id, rows, "design_solves.json")
        client.set_terminated(run_id, news.status, time_ms)


@dataclass
class _Search:
    """What the events of a search say, with what is new of it, and its `calls` to a model API."""

    opened: journal.Opened
    calls: list[Call]
    drafted: set[str] = field(default_factory=set)
    provenance: dict[str, str] = field(default_factory=dict)
    children: dict[str, _Child] = field(default_factory=dict)
    samples: journal.Samples = field(default_factory=journal.Samples)
    solves: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    rpb_f_hf: float | None = None
    unit: str = ""
    generation: int = 0
    tau: float | None = None
    spending: Spending = field(default_factory=Spending)
    news: _News = field(default_factory=_News)

    def abandon_open(self, time_ms: int) -> None:
        """End the children that no event ended."""
        for name, child in self.children.items():
            if child.status not in _ENDED:
                child.status, child.end_ms = "KILLED", time_ms
                child.tags["outcome"] = "unfinished"
                self.news.children.add(name)

    def _child(self, name: str) -> _Child:
        self.news.children.add(name)
        return self.children.setdefault(name, _Child(tags=dict(self.provenance)))

    def read(self, entry: Entry) -> None:
        """Add what an event says to what is written next."""
        news, settled = self.news, self.samples.read(entry)
        match entry:
            case journal.Started():
                news.tags |= dict.fromkeys(("stopped", "ended_by", *self.provenance))
                news.tags |= entry.provenance
                self.provenance, news.status = entry.provenance, "RUNNING"
            case Answered():
                self._answered(entry)
            case journal.Referred():
                self._referred(entry)
            case journal.Settled():
                for sample in settled:
                    self._add_sample(sample, entry)
            case journal.Completed():
                curves = entry.summary.model_dump(exclude={"generation", "samples", "failures"})
                curves |= entry.spending.model_dump()
                curves |= entry.model_dump(include={"mean_f_hf", "solved", "solve_cpu_s"})
                self.generation, self.spending = entry.summary.generation, entry.spending
                self.tau = entry.summary.tau
                news.metrics += mlflow_runs.points(curves, _ms(entry), self.generation)
            case journal.Ended():
                self._ended(entry)
            case journal.Stopped():
                news.tags["stopped"] = entry.reason
                news.status = "KILLED" if entry.by_person else "FAILED"
        if isinstance(entry, journal.Ended | journal.Stopped):
            # Calls of a generation that was not completed were paid for all the same.
            paid = Spending.of([call for call in self.calls if call.started_unix_s <= entry.at_unix_s])
            if paid != self.spending:
                self.spending = paid
                news.metrics += mlflow_runs.points(paid.model_dump(), _ms(entry), self.generation)

    def _referred(self, entry: journal.Referred) -> None:
        reference, params = entry.reference, self.opened.params
        high = {name: params.get(f"high.{name}") for name in ("cost", "time_limit_s")}
        config = HighFidelityConfig.model_validate({key: value for key, value in high.items() if value})
        results = [result for result in reference.results if result]
        costs = [cost_of(result, config, reference.objectives) for result in results]
        self.solves[RPB] = [_row(RPB, *each) for each in zip(results, costs, strict=True)]
        self.rpb_f_hf = -fmean(costs) if costs else None
        self.unit = METRICS[config.cost].unit or METRICS[config.cost].words
        self.news.metrics += mlflow_runs.points({"rpb_f_hf": self.rpb_f_hf}, _ms(entry))
        self.news.tags |= {"f_hf_unit": self.unit}

    def _answered(self, entry: Answered) -> None:
        request, draft, low = entry.request, entry.draft, entry.low
        if isinstance(request, SolveRequest) and entry.high is not None:
            self._high_scored(request.id, entry.high, entry)
        if not isinstance(request, WrittenRequest) or draft is None:
            return
        child = self._child(request.id)
        if request.id not in self.drafted:
            self.generation = request.generation
            self.drafted.add(request.id)
            self.news.drafted.add(request.id)
            self._drafted(entry, request, draft, child)
        if low is not None and low.f_lf is not None:
            child.measure(entry, {"f_lf": low.f_lf, "f_lf_seconds": low.seconds})
            child.end_ms = _ms(entry)

    def _drafted(self, entry: Answered, request: WrittenRequest, draft: Draft, child: _Child) -> None:
        child.start_ms, child.end_ms = _ms(entry) - int(1000 * draft.seconds), _ms(entry)
        child.params |= {"generation": request.generation, "operator": request.operator}
        child.params |= {"llm_model": draft.model, "generator": draft.generator}
        child.tags |= {"parents": " ".join(parent.id for parent in request.parents)}
        child.texts |= {"rule.py": draft.source}
        if calls := [call for call in self.calls if call.key == request.id]:
            spent, seconds = Spending.of(calls), sum(call.seconds for call in calls)
            totals = spent.model_dump(exclude={"answered", "unknown", "estimated"})
            child.measure(entry, totals | {"call_seconds": seconds})
        child.tags |= {"kind": "sample" if draft.source else "call"}
        if isinstance(request, ReflectionRequest):
            child.tags |= {"kind": "reflection"}
            child.texts |= {"reflection.txt": draft.text or draft.failure}
            child.status = _ENDED[draft.failure is not None]

    def _high_scored(self, name: str, score: HighScore, entry: Entry) -> None:
        child = self._child(name)
        values = {"f_hf": score.f_hf, "solve_cpu_s": score.seconds, "raw_f_hf": score.raw_f_hf}
        values |= {"load_factor": score.load_factor, "instances_solved": len(score.results)}
        values |= {"rpb_f_hf": self.rpb_f_hf}
        child.tags |= {"f_hf_unit": self.unit}
        child.measure(entry, values)
        child.end_ms = _ms(entry)
        costs: list[float | None] = [cost for cost in score.costs if cost is not None]
        if len(costs) != len(score.results):  # racing cut the rule short
            costs = [None] * len(score.results)
        self.solves[name] = [_row(name, *each) for each in zip(score.results, costs, strict=True)]

    def _add_sample(self, sample: Sample, entry: Entry) -> None:
        child = self._child(sample.id)
        child.params |= {"generation": sample.generation, "operator": sample.operator}
        child.params |= {} if sample.niche is None else {"niche": sample.niche}
        child.tags |= {
            "kind": "sample" if sample.source else "call",
            "sha": sample.sha or "",
            "parents": " ".join(sample.parents),
            "outcome": outcome(sample),
            MLFLOW_RUN_NOTE: reports.abstract(sample),
        }
        method = method_of(sample.source) if sample.source and sample.sha else None
        size = complexity(method.source) if isinstance(method, RuleMethod) else {}
        child.measure(entry, {**sample.fidelities, **size})
        child.texts |= {"rule.py": sample.source, "error.txt": sample.failure}
        child.status = _ENDED[sample.failure is not None]
        # It is settled with its generation, and ended before.
        child.end_ms = child.end_ms or _ms(entry)

    def _ended(self, entry: journal.Ended) -> None:
        best, news = entry.best, self.news
        values: dict[str, float | None] = {**entry.cost.metrics()}
        about = "No sampled rule was of use; the reasons are in samples.json."
        news.tags |= {"best_sample": "none"}
        if best is not None:
            values |= {f"final_{name}": value for name, value in best.fidelities.items()}
            news.tags |= {"best_sample": best.id, "best_sha": best.sha or ""}
            news.tags["lineage"] = descent(best, self.samples.values())
            about = f"{reports.abstract(best)}\n\nAll samples, best first: samples.json"
        about = f"{entry.ended_by}\n\n{about}" if entry.ended_by is not None else about
        evaluations = f"experiments/{mlflow_runs.experiment_id(EVALUATION)}/runs"
        found_by = mlflow_runs.page(evaluations, searchFilter=f"tags.search_key = '{self.opened.key}'")
        about += f"\n\n[Evaluations of its rules]({found_by})"
        news.tags |= {"ended_by": entry.ended_by or "search.samples", MLFLOW_RUN_NOTE: about}
        news.metrics += mlflow_runs.points(values, _ms(entry))
        news.status = "FINISHED"


def write_record(folder: Path, record: Record) -> str:
    """Write a record, whose files lie in a folder, to MLflow; return the id of its run."""
    client, time_ms, note = mlflow_runs.client(), int(record.at_unix_s * 1000), record.note
    tags = {**record.provenance, **record.tags}
    began_ms = int(record.began_unix_s * 1000) or time_ms
    if search := mlflow_run(tags.get("search_key", "")):
        tags["search_run"] = search
        note += f"\n\n[The search it is from]({mlflow_runs.run_url(search, SEARCH)})"
    tags |= {MLFLOW_RUN_NOTE: note} if note else {}
    run = mlflow_runs.open_run(record.experiment, record.key, record.name, tags, start_ms=began_ms)
    run_id = str(run.info.run_id)
    if run.info.status != "FINISHED":
        last = max((step for curve in record.curves.values() for step, _ in curve), default=0)
        points = mlflow_runs.points(record.metrics, time_ms, last)
        for name, curve in record.curves.items():
            # A record is written again while it is under way: points keep the time at which they were new.
            seen = client.get_metric_history(run_id, name) if name in run.data.metrics else ()
            points += [Metric(name, value, time_ms, step) for step, value in curve[len(seen) :]]
        mlflow_runs.log(run_id, metrics=points, params=record.params, tags=tags)
        mlflow_runs.log_datasets(run_id, record.tags.get("benchmark", ""), record.params)
        shared = record.model_dump(include={"began_unix_s", "at_unix_s", "provenance"})
        for child in record.children:  # found by its key, also below a run that was deleted
            below = write_record(folder, child.model_copy(update=shared))
            client.set_tag(below, MLFLOW_PARENT_RUN_ID, run_id)
        for artifact, rows in record.tables.items():
            mlflow_runs.log_table(run_id, rows, artifact)
        mlflow_runs.log_files(run_id, [folder / name for name in record.files])
        if search and "conclusion" in tags:
            ratio = mlflow_runs.points({"ratio": record.metrics.get("ratio")}, time_ms)
            mlflow_runs.log(search, metrics=ratio, tags={"conclusion": tags["conclusion"]})
        if record.calls:
            store_traces(record.calls, Account(home_store(), record.calls).calls(), run_id, record.calls)
        if record.state != "running":
            client.set_terminated(run_id, record.state.upper(), time_ms)
        elif run.info.status != "RUNNING":
            client.update_run(run_id, status="RUNNING")
        if "stopped" in run.data.tags.keys() - tags.keys():
            client.delete_tag(run_id, "stopped")
    return run_id


def outcome(sample: Sample) -> str:
    """Return in one word what became of a sample, for filters."""
    if not sample.source:
        return "no_rule"
    if sample.eliminated is not None:
        return "eliminated"
    if sample.duplicate_of is not None:
        return "chooses_alike"
    if sample.failure is None:
        return "solved" if sample.f_hf is not None else "scored"
    reasons = {"duplicate": "duplicate", "screened": "screened_out"}
    return reasons.get(sample.failure.partition(" ")[0], "failed")


def _row(name: str, result: SolveResult, cost: float | None) -> dict[str, Any]:
    solved = result.model_dump(include={"instance", "cpu_s", "root_s", "nodes", "status"})
    return {"rule": name, "cost": cost, "capped": not result.finished, **solved}


def _ms(entry: Entry) -> int:
    return int(entry.at_unix_s * 1000)
