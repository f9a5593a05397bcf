"""What a configuration leaves open is resolved once for all tries of a run, and anew for the next run."""

import pytest

from bife_core.base.errors import BifeError
from bife_core.registry.choosing import registered_name
from bife_core.registry.local import LocalRegistry
from bife_core.run.config import InstancesConfig, PipelineConfig, SearchConfig
from bife_core.run.stages.resolve import resolved, seed_at
from bife_core.run.stages.runtime import Conductor, PresentRun, Runtime
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method, method_of, with_budget
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.scip.settings import SolverConfig
from bife_core.store.home import Home
from tests.support.registered import beside, champion_in, source

CHAMPION = ("champion",)


def wish(size="transfer", **known):
    toys = InstancesConfig(benchmark="facility_location", size=size)
    return PipelineConfig(instances=toys, search=SearchConfig(**known))


def champion(runtime, config, number, method=None, **known):
    name = registered_name(config.instances, config.solver)
    return champion_in(runtime.registry, name, number, method, **known)


def test_a_seed_is_that_of_the_scheduled_time_and_what_names_one_search_is_left_as_it_is(runtime):
    before = seed_at(runtime.conductor.present.scheduled)
    seed = resolved(wish(seed=None), runtime).search.seed
    assert before <= seed <= seed_at(runtime.conductor.present.scheduled)
    config = wish(seed=7)
    assert resolved(config, runtime) is config


def test_the_present_champion_is_among_the_first_rules_under_its_own_settings(runtime):
    config = wish(first_rules=CHAMPION)
    assert resolved(config, runtime).search.first_rules == ()
    champion(runtime, config, 1)
    assert resolved(config, runtime).search == SearchConfig(first_rules=(source(1),))
    other = config.model_copy(update={"solver": SolverConfig(name="paper")})
    assert resolved(other, runtime).search.first_rules == ()


def test_a_registered_rule_is_the_one_in_the_home_of_the_runtime(runtime, tmp_path):
    elsewhere, config = Runtime(Home(tmp_path)), wish("elsewhere", first_rules=CHAMPION)
    champion(runtime, config, 1)
    reference = champion(elsewhere, config, 2).reference
    assert elsewhere.method(reference).text == source(2)
    assert elsewhere.method(f"{reference},budget=0.5") == with_budget(elsewhere.method(reference), 0.5)
    assert runtime.method(reference).text == source(1)
    assert resolved(config, elsewhere).search.first_rules == (source(2),)


def test_a_champion_with_a_budget_is_a_first_rule_without_it(runtime):
    config = wish("small", first_rules=CHAMPION)
    budgeted = with_budget(RuleMethod(name="a", source=source(1)), 0.5)
    assert load_method(champion(runtime, config, 1, budgeted).reference) == budgeted
    assert resolved(config, runtime).search.first_rules == (source(1),)


def test_a_search_of_starts_begins_with_that_of_the_champion(runtime):
    config = wish("large", first_rules=CHAMPION, component="start")
    tuned = Configuration(branching=RuleMethod(name="a", source=source(1)), start="restricted")
    champion(runtime, config, 1, tuned)
    (text,) = resolved(config, runtime).search.first_rules
    assert method_of(text) == Configuration(name="restricted", start="restricted")
    rules = wish("large", first_rules=CHAMPION)
    assert resolved(rules, runtime).search.first_rules == (source(1),)


def test_every_try_of_a_run_begins_with_the_champion_of_its_first(runtime, monkeypatch):
    config = wish("tiny", first_rules=CHAMPION)
    champion(runtime, config, 1)
    monkeypatch.setattr(Conductor, "present", PresentRun(number="a-run"))
    first = resolved(config, runtime)
    champion(runtime, config, 2, **beside(1))
    assert resolved(config, runtime) == first
    assert first.search.first_rules == (source(1),)
    monkeypatch.setattr(Conductor, "present", PresentRun(number="the-next"))
    assert resolved(config, runtime).search.first_rules == (source(2),)


@pytest.mark.parametrize("found", [(), (source(1), source(2))])
def test_the_archive_stands_for_the_best_rules_of_the_home(runtime, monkeypatch, found):
    monkeypatch.setattr(
        "bife_core.run.stages.resolve.archived", lambda _store, most, *_: found if most == 16 else None
    )
    wanted = wish(first_rules=("archive", source(3)))
    assert resolved(wanted, runtime).search.first_rules == (*found, source(3))


def test_a_registry_that_is_away_is_a_note(runtime, monkeypatch):
    def away(*_):
        raise BifeError("MLflow is away.")

    monkeypatch.setattr(LocalRegistry, "champion_of", away)
    assert resolved(wish(first_rules=CHAMPION), runtime).search.first_rules == ()
    assert runtime.observer.notes[-1] == "The search does not begin with the champion. MLflow is away."
