import uuid
from unittest.mock import Mock

import pytest

from bife_core.benchmarks.formulation import likeness_of
from bife_core.scip.reading import read_model
from tasks import registry as choosing
from tasks.registry import GENERAL, rule_for
from tasks.tracking.store import TrackingError
from tests.support.challenging import challenge, made_champion


@pytest.fixture
def model(tmp_path):
    """A model of a kind that no other test's champion was made for."""
    path = tmp_path / "chain.lp"
    rows = "".join(f" c{i}: 2 x{i} - 3 y + 5 x{i + 1} = {i % 4}\n" for i in range(7))
    names = " ".join(f"x{i}" for i in range(8))
    path.write_text(f"Minimize\n obj: x0 + y\nSubject To\n{rows}Bounds\n y <= 9\nGenerals\n {names}\nEnd\n")
    return path


def register(how, models, number=0, **known):
    return how(
        f"bife-test-{uuid.uuid4().hex[:8]}", number, likeness=likeness_of(models).model_dump_json(), **known
    )


def test_the_best_champion_for_such_models_is_chosen(model):
    register(made_champion, [model], ratio=0.8)
    best = register(made_champion, [model], ratio=0.6, ci_low=0.5, ci_high=0.7)
    register(challenge, [model], ratio=0.1)
    choice = rule_for(read_model(model))
    assert choice.reference == f"models:/{best.name}@champion"
    assert choice.reason == "It was measured on instances like this one: 0.600 of RPB's CPU time."


def test_a_model_unlike_all_is_left_to_the_general_rule(model, tmp_path):
    champion = register(made_champion, [model])
    other = tmp_path / "other.lp"
    other.write_text("Maximize\n obj: x + y\nSubject To\n c: x + y <= 1\nBinaries\n x y\nEnd\n")
    choice = rule_for(read_model(other))
    assert choice.reference == GENERAL
    assert choice.reason.startswith("No champion was made for instances like this one")
    assert f"{champion.name}: variables: 2 here, 9 there" in choice.reason


@pytest.mark.parametrize("registered", [(), TrackingError("MLflow is away.")])
def test_without_champions_the_model_is_not_gone_through(registered, monkeypatch):
    monkeypatch.setattr(choosing, "list_rules", Mock(side_effect=[registered]))
    nothing_to_look_at = object()
    assert rule_for(nothing_to_look_at).reference == GENERAL


def test_a_registry_that_is_away_is_named_and_holds_nobody_up(model, monkeypatch):
    def away():
        raise TrackingError("MLflow is away.")

    monkeypatch.setattr(choosing, "list_rules", away)
    choice = rule_for(read_model(model))
    assert (choice.reference, choice.reason) == (GENERAL, "Champions are not known. MLflow is away.")
