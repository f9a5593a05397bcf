"""The registry in the store, on SQLite or PostgreSQL, and methods that are loaded from it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from bife_core.base.errors import RuleError
from bife_core.registry.evidence import CHALLENGER, CHAMPION
from bife_core.registry.local import LocalRegistry
from bife_core.solver.methods.references import load_method
from bife_core.store import Store
from bife_core.store.registered import REGISTRY
from tests.support.registered import beside, evidence, source
from tests.support.registry_contract import Deciding


class TestLocalRegistry(Deciding):
    pass


def test_rules_that_are_registered_at_once_become_versions_one_after_the_other(store, registry, name):
    def register(number):
        return LocalRegistry(store).register(name, source(number), evidence(number), by_gate=True).version

    with ThreadPoolExecutor(4) as threads:
        versions = list(threads.map(register, [0, 1, 2, 0, 1, 2]))
    assert sorted(versions) == [1, 1, 2, 2, 3, 3]
    assert sum(CHAMPION in rule.aliases for rule in registry.versions(name)) == 1


def test_another_process_finds_what_was_registered(store, registry, name):
    made = registry.register(name, source(0), evidence(0))
    assert LocalRegistry(Store(store.name) if store.folder else store).versions() == [made]
    assert store.studies() == [], "to MLflow and to `bife status` it is no run"


def test_a_registry_takes_over_what_another_has_and_decides_on_from_there(registry, name, tmp_path):
    other = LocalRegistry(Store(tmp_path / "other"))
    registry.register(name, source(1), evidence(1))
    other.register(name, source(1), evidence(1), by_gate=True)  # it is known there already
    other.roll_back(name, "Ada", "too slow")
    for number in (2, 3):
        known = evidence(number, **(beside(2) if number == 3 else {}))
        registry.register(name, source(number), known, by_gate=True)
    registry.register(name, source(4), evidence(4, **beside(3)))
    assert registry.copy_to(other) == 3
    assert registry.copy_to(other) == 0, "what is there is not copied twice"
    mine, theirs = (each.versions(name) for each in (registry, other))
    assert [rule.aliases for rule in theirs] == [rule.aliases for rule in mine]
    assert [rule.aliases for rule in theirs] == [(CHALLENGER,), (CHAMPION,), (), ()]
    assert [rule.card for rule in theirs[:3]] == [rule.card for rule in mine[:3]]
    assert other.roll_back(name, "Ada", "slower").version == 2, (
        "the one that it replaced, by its number there"
    )


def test_a_rule_that_was_refused_in_the_other_registry_gets_no_alias(registry, name, tmp_path):
    other = LocalRegistry(Store(tmp_path / "other"))
    registry.register(name, source(0), evidence(0, search_key="a search"), by_gate=True)
    other.refuse(name, other.register(name, source(0), evidence(0)).version, "Ada", "not ours to use")
    assert registry.copy_to(other) == 1
    assert [rule.aliases for rule in other.versions(name)] == [(), ()]


def test_aliases_of_the_other_registry_stay(registry, name, tmp_path):
    other = LocalRegistry(Store(tmp_path / "other"))
    registry.register(name, source(0), evidence(0), by_gate=True)
    other.register(name, source(1), evidence(1), by_gate=True)
    assert registry.copy_to(other) == 1
    assert [rule.aliases for rule in other.versions(name)] == [(), (CHALLENGER, CHAMPION)]


def test_a_champion_is_loaded_without_mlflow(own_home, name):
    reference = f"models:/{name}@champion"
    with pytest.raises(RuleError, match=rf"bife\.db holds no {reference}"):
        load_method(reference)
    assert not own_home.exists(), "nothing is made by asking"
    made = LocalRegistry(Store(own_home)).register(name, source(0), evidence(0), by_gate=True)
    assert load_method(reference).text == load_method(made.reference).text == source(0)
    assert load_method(f"{reference},budget=0.5").budget.share == 0.5
    with pytest.raises(RuleError, match=r"holds no models:/bife-test/2"):
        load_method(f"models:/{name}/2")


def test_an_altered_rule_is_refused(own_home, name):
    store = Store(own_home)
    made = LocalRegistry(store).register(name, source(0), evidence(0))
    altered = {"name": name, "text": source(1), "card": "", "tags": made.tags}
    store.append(REGISTRY, "registered", altered)
    assert load_method(f"models:/{name}/1").text == source(0)
    with pytest.raises(RuleError, match="it has been altered"):
        load_method(f"models:/{name}/2")


def test_where_mlflow_has_a_database_it_is_asked(home_registry, name, monkeypatch):
    made = home_registry.register(name, source(0), evidence(0))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    with pytest.raises(RuleError, match="read by MLflow, which is not installed"):
        load_method(made.reference)
