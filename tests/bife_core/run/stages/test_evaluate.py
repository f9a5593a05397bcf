"""What stages share, and the files an evaluation leaves; with neither Prefect nor MLflow."""

import random
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from bife_core.base.errors import BifeError
from bife_core.run.config import InstancesConfig, PipelineConfig, RunnerConfig
from bife_core.run.presets import preset, with_overrides
from bife_core.run.show.report import Story
from bife_core.run.stages import evaluation_files
from bife_core.run.stages.evaluate import evaluate, folder_of, record_evaluation
from bife_core.run.stages.evaluation_files import load_report, read_summary
from bife_core.run.stages.records import read_record
from bife_core.run.stages.runtime import InstanceSet, Runtime
from bife_core.store.home import Home
from bife_core.workers.cluster import close_workers, worker_pool
from tests.support.diary import Diary
from tests.support.measured import RULE, summary

TINY = InstancesConfig(size="tiny")


def test_a_set_of_instances_is_known_by_its_content():
    runtime = Runtime()
    design = runtime.instances(TINY, "design", 1)
    elsewhere = tuple(replace(instance, path=Path("/elsewhere")) for instance in design.instances)
    moved = design.model_copy(update={"instances": elsewhere})
    assert moved.content == design.content
    assert runtime.instances(TINY, "design", 2).content != design.content
    assert runtime.benchmark(TINY).opened is Runtime().benchmark(TINY).opened, "it is opened once"


def test_all_stages_share_one_pool_and_a_closed_one_is_replaced():
    pool = worker_pool(RunnerConfig(workers=1))
    assert worker_pool(RunnerConfig(workers=1)) is pool
    close_workers()
    replaced = worker_pool(RunnerConfig(workers=1))
    assert replaced is not pool
    assert replaced.submit("bife_core.workers.selftest:echo", {"value": 1}, limit_s=60).result() == 1


def test_a_report_that_fails_takes_no_evaluation_away_and_is_written_by_the_next_run(tmp_path, monkeypatch):
    made, diary = summary([5.0, 6.0, 7.0], [9.0, 8.0, 9.0 + random.random()]), Diary()
    tested, runtime = InstanceSet(label="CA", instances=()), Runtime(Home(tmp_path), diary)
    folder = folder_of(runtime, [RULE], tested, made)
    with monkeypatch.context() as patched:
        patched.setattr(evaluation_files.reports, "render_page", lambda *_: 1 / 0)
        record_evaluation(PipelineConfig(), runtime, [RULE], tested, made, Story())
    assert read_summary(folder) == made
    assert diary.notes == [
        "The report could not be written (ZeroDivisionError: division by zero); "
        f"`bife report {folder}` tries again."
    ]
    assert not (folder / "report.html").exists()
    stored = read_record(runtime.store, folder.name)
    record_evaluation(PipelineConfig(), runtime, [RULE], tested, made, Story())
    assert (folder / "report.html").is_file()
    assert read_record(runtime.store, folder.name) == stored, "a record keeps its time"
    for name in ("story.json", "evaluation.json"):
        (folder / name).write_text('{"of": "an older version"}')
        with pytest.raises(
            BifeError, match=f"{name} cannot be read, expected a file of `bife evaluate` of this"
        ):
            load_report([str(folder)], runtime)


def test_what_instances_serve_is_entered_before_they_are_solved_and_once(runtime, monkeypatch):
    config = preset("smoke")
    shared = [one.digest for one in runtime.instances(config.instances, "test", 2).instances]

    def uses():
        served = runtime.store.served(shared)
        return [len(served[digest].comparisons) if digest in served else 0 for digest in shared]

    def evaluated():
        return evaluate(config, runtime, "paper_mis", others=("pscost", "paper_cfl"))

    with monkeypatch.context() as patch:
        patch.setattr("bife_core.run.stages.evaluate.measure", Mock(side_effect=BifeError("interrupted")))
        with pytest.raises(BifeError, match="interrupted"):
            evaluated()
    assert uses() == [2, 2]
    evaluated()
    assert uses() == [2, 2]


def test_rules_are_compared_with_another_rule_where_that_is_the_baseline(runtime):
    config = with_overrides(preset("smoke"), {"evaluation.baseline": "general"})
    found = evaluate(config, runtime, "paper_ca", others=("relpscost",)).summary
    pairs = [(one.method, one.baseline) for one in found.comparisons]
    assert pairs == [("paper_ca", "general"), ("relpscost", "general")]
