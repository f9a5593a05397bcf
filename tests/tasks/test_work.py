"""Tasks of a search and of an evaluation: what their pages say, what is tried again, and the files they leave."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State, StateType
from prefect.states import Scheduled

from bife_core.base.errors import ConfigError
from bife_core.registry.evidence import Origin
from bife_core.run.config import PipelineConfig, SearchConfig
from bife_core.run.stages.evaluation_files import search_behind
from bife_core.run.stages.resolve import resolved, seed_at
from bife_core.run.study import Journal, Opened, files
from bife_core.solver.methods.references import load_method, with_budget
from bife_core.workers import WorkerFailure
from bife_flows.reporting.conductor import flow_runtime, is_infrastructure
from tests.support.challenging import challenge
from tests.support.journals import add_end, add_sample
from tests.support.tracked import children, synced


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


_seeds = []


@flow(name="resolving", retries=1, retry_delay_seconds=1)
def resolving(config: PipelineConfig) -> None:
    _seeds.append(resolved(config, flow_runtime()).search.seed)
    if len(_seeds) == 1:
        raise RuntimeError("once more")


@pytest.mark.usefixtures("prepared")
def test_a_seed_is_that_of_the_scheduled_time_on_every_try():
    # As Prefect's workers run what a schedule has made.
    from prefect.flow_engine import run_flow

    due, given = (
        datetime.now(UTC) - timedelta(hours=3),
        {"config": PipelineConfig(search=SearchConfig(seed=None))},
    )
    with get_client(sync_client=True) as client:
        made = client.create_flow_run(resolving, parameters=given, state=Scheduled(scheduled_time=due))
    run_flow(resolving, flow_run=made, parameters=given)
    assert _seeds == [seed_at(due)] * 2


def test_the_search_behind_a_rule_is_the_one_that_gave_it_and_its_hash_says_which_sample_it_is(
    journal, folder
):
    runtime, method = flow_runtime(), load_method("pseudocost_product")
    chosen = add_sample(journal, "g01-c04", sha=method.identity, source=method.source, f_hf=-3.0)
    add_sample(journal, f_hf=-2.0)
    name, path = f"bife-test-{uuid.uuid4().hex[:8]}", files.keep_rule(folder, with_budget(method, 0.5))
    challenge(name, 0, search_key=journal.key, lineage="as it was registered")
    projection = synced(folder)
    runs = [f"runs:/{projection.run_id}", f"runs:/{children(projection)['g01-c04'].info.run_id}/rule.py"]
    best, version = str(folder / "best_rule.py"), f"models:/{name}/1"
    (folder / "best_rule.py").write_text(method.source)
    only_mlflow = Origin(search_key=journal.key, search_run=projection.run_id)
    assert search_behind(runs[0], method, runtime) == (only_mlflow, None), "it has not ended"
    assert search_behind(str(path), method, runtime) == (Origin(), None)
    assert search_behind(version, method, runtime)[0].lineage == "as it was registered"
    assert search_behind("paper_ca", method, runtime) == (Origin(), None)
    add_end(journal)
    for reference in (best, str(path), f"{path},budget=0.7", *runs, version):
        origin, found = search_behind(reference, with_budget(method, 0.7), runtime)
        assert (found.name, found.best, found.origin) == ("bife", "g01-c04", "offline from the library")
        assert (origin.lineage, origin.f_hf) == (chosen.lineage, -3.0)
        assert origin.search_key == journal.key
        assert origin.search_run == (projection.run_id if reference in runs else ""), "a registry finds it"
        assert search_behind(reference, load_method("paper_ca"), runtime)[1] is None, "no sample is that rule"
    assert search_behind(method, method, runtime, journal.key)[1].best == "g01-c04", (
        "a pipeline hands it over"
    )


def test_a_study_without_a_home_is_the_search_behind_its_rules_unless_another_version_wrote_it(tmp_path):
    runtime, method = flow_runtime(), load_method("pseudocost_product")
    journal, rule = Journal(tmp_path, Opened(key="a")), str(tmp_path / "best_rule.py")
    add_sample(journal, sha=method.identity, source=method.source, f_hf=-3.0)
    add_end(journal)
    origin, found = search_behind(rule, method, runtime)
    assert (origin.search_key, found.best) == ("a", "g01-c00")
    journal.store.append("a", "finalised", {})
    assert search_behind(rule, method, runtime) == (Origin(), None)
