"""Each run of a schedule is a search of its own, and every try of it the same."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.states import Scheduled

from bife_core.config import InstancesConfig, PipelineConfig, SearchConfig
from bife_core.methods.loading import load_method, with_budget
from bife_core.methods.scorer import RuleMethod
from bife_core.registry.choosing import registered_name
from bife_core.scip.solver import SolverConfig
from bife_core.stages.resolving import resolved, seed_at
from tasks.runtime import TrackedRuntime
from tasks.stores import observing
from tests.flows.conftest import Diary
from tests.support.challenging import beside, made_champion, source

pytestmark = pytest.mark.usefixtures("prepared")

TOYS = InstancesConfig(benchmark="facility_location", size="transfer")


def wish(**known) -> PipelineConfig:
    return PipelineConfig(instances=TOYS, search=SearchConfig(**known))


_seeds: list[int | None] = []


@flow(name="resolving", retries=1, retry_delay_seconds=1)
def resolving(config: PipelineConfig) -> None:
    _seeds.append(resolved(config, TrackedRuntime()).search.seed)
    if len(_seeds) == 1:
        raise RuntimeError("once more")


def test_a_seed_is_that_of_the_scheduled_time_on_every_try():
    # As Prefect's workers run what a schedule has made.
    from prefect.flow_engine import run_flow

    due, given = datetime.now(UTC) - timedelta(hours=3), {"config": wish(seed=None)}
    with get_client(sync_client=True) as client:
        made = client.create_flow_run(resolving, parameters=given, state=Scheduled(scheduled_time=due))
    run_flow(resolving, flow_run=made, parameters=given)
    assert _seeds == [seed_at(due)] * 2


def test_what_names_one_search_already_is_left_as_it_is():
    config = wish(seed=7)
    assert resolved(config, TrackedRuntime()) is config


def test_the_present_champion_is_among_the_first_rules():
    diary = Diary()
    with observing(diary):
        assert resolved(wish(first_rules=("champion",)), TrackedRuntime()).search.first_rules == ()
        made_champion(registered_name(TOYS, SolverConfig()), 1)
        found = resolved(wish(first_rules=("champion",)), TrackedRuntime()).search
        other = wish(first_rules=("champion",)).model_copy(update={"solver": SolverConfig(name="paper")})
        assert resolved(other, TrackedRuntime()).search.first_rules == (), (
            "a champion of other settings is none"
        )
    assert found == SearchConfig(first_rules=(source(1),))
    assert diary.notes == []


def test_a_champion_with_a_budget_is_a_first_rule_without_it():
    small = InstancesConfig(benchmark="facility_location", size="small")
    budgeted = with_budget(RuleMethod(name="a", source=source(1)), 0.5)
    made_champion(registered_name(small, SolverConfig()), 1, budgeted)
    assert load_method(f"models:/{registered_name(small, SolverConfig())}@champion") == budgeted
    config = wish(first_rules=("champion",)).model_copy(update={"instances": small})
    assert resolved(config, TrackedRuntime()).search.first_rules == (source(1),)


def test_every_try_of_a_run_begins_with_the_champion_of_its_first(monkeypatch):
    rules = InstancesConfig(benchmark="facility_location", size="tiny")
    config = wish(first_rules=("champion",)).model_copy(update={"instances": rules})
    name = registered_name(rules, SolverConfig())
    made_champion(name, 1)
    monkeypatch.setattr("tasks.runtime.present_run", lambda: SimpleNamespace(id="a-run"))
    first = resolved(config, TrackedRuntime())
    made_champion(name, 2, **beside(1))
    assert resolved(config, TrackedRuntime()) == first
    assert first.search.first_rules == (source(1),)
    monkeypatch.setattr("tasks.runtime.present_run", lambda: SimpleNamespace(id="the-next"))
    assert resolved(config, TrackedRuntime()).search.first_rules == (source(2),)


def test_the_archive_stands_for_the_best_rules_of_the_home(monkeypatch):
    wanted = wish(first_rules=("archive", source(3)))
    monkeypatch.setattr("bife_core.stages.resolving.archived", lambda *_: ())
    assert resolved(wanted, TrackedRuntime()).search.first_rules == (source(3),)
    monkeypatch.setattr(
        "bife_core.stages.resolving.archived",
        lambda store, most: (source(1), source(2)) if most == 16 else (),
    )
    assert resolved(wanted, TrackedRuntime()).search.first_rules == (source(1), source(2), source(3))


def test_a_registry_that_is_away_is_a_note(monkeypatch):
    from tasks.tracking.store import TrackingError

    def away(*_):
        raise TrackingError("MLflow is away.")

    monkeypatch.setattr("tasks.registry.mlflow_registry.MlflowRegistry.champion_of", away)
    diary = Diary()
    with observing(diary):
        assert resolved(wish(first_rules=("champion",)), TrackedRuntime()).search.first_rules == ()
    assert diary.notes == ["The search does not begin with the champion. MLflow is away."]
