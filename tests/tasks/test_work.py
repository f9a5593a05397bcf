"""Tasks of a search and of an evaluation: what their pages say, what is tried again, and the files they leave."""

import random
import uuid
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from prefect.client.schemas.objects import State, StateType

from bife_core.config import InstancesConfig, PipelineConfig, RunnerConfig
from bife_core.errors import ConfigError
from bife_core.methods.loading import load_method, with_budget
from bife_core.registry.evidence import Origin
from bife_core.report import Story
from bife_core.sandbox import WorkerFailure
from bife_core.study import files
from tasks import evaluation_files
from tasks.collection import InstanceSet, prepare_instances
from tasks.evaluation import evaluation_folder, track_evaluation
from tasks.evaluation_files import read_summary, search_behind
from tasks.instances import benchmark
from tasks.states import is_infrastructure
from tasks.stores import observing
from tasks.workers import close_workers, worker_pool
from tests.support.challenging import challenge
from tests.support.journals import add_sample, write_files
from tests.support.measured import RULE, summary
from tests.support.tracked import Ear, children, synced

TINY = InstancesConfig(size="tiny")


def test_a_set_of_instances_is_known_by_its_content():
    design = prepare_instances.fn(TINY, "design", 1)
    elsewhere = tuple(replace(instance, path=Path("/elsewhere")) for instance in design.instances)
    moved = design.model_copy(update={"instances": elsewhere})
    assert moved.content == design.content
    assert prepare_instances.fn(TINY, "design", 2).content != design.content
    assert benchmark(TINY).opened is benchmark(TINY).opened, "it is opened once"


def test_all_tasks_share_one_pool_and_a_closed_one_is_replaced():
    pool = worker_pool(RunnerConfig(workers=1))
    assert worker_pool(RunnerConfig(workers=1)) is pool
    close_workers()
    replaced = worker_pool(RunnerConfig(workers=1))
    assert replaced is not pool
    assert replaced.submit("bife_core.sandbox.selftest:echo", {"value": 1}, limit_s=60).result() == 1


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ConnectionResetError(), True),
        (OSError("disk full"), True),
        (WorkerFailure("died", "gone"), True),
        (WorkerFailure("error", "disk full", "", "OSError", by_machine=True), True),
        (WorkerFailure("error", "refused", "", "RuleError"), False),
        (WorkerFailure("timeout", "slow"), False),
        (ConfigError("no such benchmark"), False),
        (ValueError(), False),
    ],
)
def test_only_disk_network_and_lost_workers_are_tried_again(error, again):
    assert is_infrastructure(None, None, State(type=StateType.FAILED, data=error)) is again


def test_the_search_behind_a_rule_is_the_one_that_gave_it_and_its_hash_says_which_sample_it_is(
    journal, folder
):
    method = load_method("pseudocost_product")
    chosen = add_sample(journal, "g01-c04", sha=method.identity, source=method.source, f_hf=-3.0)
    write_files(folder, [add_sample(journal, f_hf=-2.0), chosen])
    name, path = f"bife-test-{uuid.uuid4().hex[:8]}", files.keep_rule(folder, with_budget(method, 0.5))
    challenge(name, 0, evolution_key=journal.key, lineage="as it was registered")
    projection = synced(folder)
    runs = [f"runs:/{projection.run_id}", f"runs:/{children(projection)['g01-c04'].info.run_id}/rule.py"]
    for reference in (
        str(folder / "best_rule.py"),
        str(path),
        f"{path},budget=0.7",
        *runs,
        f"models:/{name}/1",
    ):
        origin, found = search_behind(reference, with_budget(method, 0.7))
        assert (found.name, found.best, found.origin) == ("bife", "g01-c04", "offline from the library")
        assert (origin.lineage, origin.f_hf, origin.evolution_run) == (
            chosen.lineage,
            -3.0,
            projection.run_id,
        )
        assert origin.evolution_key == journal.key
        assert search_behind(reference, load_method("paper_ca"))[1] is None, "no sample is that rule"
    for file, content in ((files.COST, '{"search": "bi'), (files.SAMPLES, '[{"id": 7}]')):
        (folder / file).write_text(content)
        assert search_behind(str(path), method) == (Origin(), None)
    (folder / files.SAMPLES).unlink()
    only_mlflow = Origin(evolution_key=journal.key, evolution_run=projection.run_id)
    assert search_behind(runs[0], method) == (only_mlflow, None)
    assert search_behind(f"models:/{name}/1", method)[0].lineage == "as it was registered"
    assert search_behind("paper_ca", method) == (Origin(), None)


def test_a_report_that_fails_takes_no_evaluation_away_and_is_written_by_the_next_run(home, monkeypatch):
    made, ear = summary([5.0, 6.0, 7.0], [9.0, 8.0, 9.0 + random.random()]), Ear()
    tested = InstanceSet(label="CA", instances=())
    track = partial(track_evaluation.fn, PipelineConfig(), [RULE], tested, made, Story())
    folder = evaluation_folder([RULE], tested, made)
    with monkeypatch.context() as patched, observing(ear):
        patched.setattr(evaluation_files.reports, "render_page", lambda *_: 1 / 0)
        run_id = track()
    assert run_id
    assert read_summary(folder) == made
    assert ear.heard == [
        "The report could not be written (ZeroDivisionError: division by zero); "
        f"`bife report {folder}` tries again."
    ]
    assert not (folder / "report.html").exists()
    assert track() == run_id
    assert (folder / "report.html").is_file()
