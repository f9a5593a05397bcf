"""A language model is asked once for settings: its answer is stored, paid once, and raced before all else."""

import json

import pytest

from bife_core.base.errors import SolverError
from bife_core.run.presets import preset, with_overrides
from bife_core.run.stages.records import read_record
from bife_core.run.stages.tune import tune
from bife_core.search.generators.account import Account, Spending, left_of
from bife_core.search.generators.config import BudgetConfig
from tests.support.model_answers import completion
from tests.support.model_api import ModelApi, Said

ANSWER = "Cuts take longest.\nseparating = off\nheuristics = none\n\nLong trees.\nnodeselection = dfs"
REASON = "Cuts take longest. [left out: heuristics = none, which is none of default, fast, aggressive, off]"
SETTINGS = {"search.seed": 0, "tune.instances": 2, "high.cost": "nodes", "search.algorithm": "bife"}


@pytest.fixture(scope="module")
def asked(runtime):
    config = with_overrides(preset("smoke"), SETTINGS | {"generator.kind": "openai"})
    with pytest.MonkeyPatch.context() as patch, ModelApi([Said(200, completion(ANSWER))]) as api:
        api.configure(patch, price_in=1.0, price_out=2.0)
        first = tune(config, runtime, 0.5, beside=True)
        again = tune(config, runtime, 0.5, beside=True)
        without = tune(config, runtime, 0.5, ("pscost",), "tuned_scip", beside=True)
    return api.requests, first, again, without


def test_it_is_asked_once_with_statistics_formulation_and_table(asked):
    (request,), first, again, without = asked
    (message,) = request.body["messages"]
    for part in (
        "combinatorial auction",
        "100 % binary",
        "gap closed at the root",
        "- separating: default | fast",
    ):
        assert part in message["content"]
    assert "cuts_found/cuts_applied" in message["content"]
    assert len(message["content"].split()) < 2000
    assert again.tuning.trials[1] == first.tuning.trials[1]
    assert without.tuning.trials[1].reason == REASON
    assert (first.spending.calls, first.spending.tokens, str(first.spending.cost_usd)) == (1, 1200, "0.0014")


def test_its_configurations_are_raced_first_and_say_where_they_come_from(asked, runtime):
    _, first, *_ = asked
    trials = first.tuning.trials
    assert [trial.reason for trial in trials[:3]] == ["", REASON, "Long trees."]
    assert trials[1].choices == {"separating": "off"}
    assert any(
        "separating off (model: Cuts take longest. [left out" in note for note in runtime.observer.notes
    )
    record, _ = read_record(runtime.store, first.path.parent.name)
    assert [child.tags["origin"] for child in record.children[:2]] == ["", "model"]
    (call,) = json.loads((first.path.parent / "calls.json").read_text())
    assert "calls.json" in record.files
    assert Account(runtime.store, record.calls).calls()[0].answer == ANSWER, "by which it is traced"
    assert record.began_unix_s < record.at_unix_s
    assert call["answer"] == ANSWER


def test_what_scip_takes_at_the_least_is_said_before_its_first_solve(runtime, monkeypatch):
    def solve_nothing(*_args, usual_s, **_named):
        given.append((usual_s, runtime.observer.notes[-1:]))
        raise SolverError("nothing is solved")

    given = []
    first = "SCIP default settings are solved with first: for half of the 80 CPU seconds at most"
    monkeypatch.setattr("bife_core.run.stages.tune._tune", solve_nothing)
    for beside in (False, True):
        runtime.observer.notes.clear()
        with pytest.raises(SolverError, match="nothing is solved"):
            tune(preset("smoke"), runtime, 80.0, beside=beside)
    assert given == [(40.0, [f"{first}, but one solve at least, which may take 10."]), (None, [])]


def test_recorded_answers_are_replayed_without_an_api(asked, runtime):
    _, first, *_ = asked
    settings = {"generator.kind": "replay", "generator.replay_from": str(runtime.home.root)}
    replayed = tune(with_overrides(preset("smoke"), SETTINGS | settings), runtime, 0.5, beside=True)
    assert replayed.tuning.trials[1] == first.tuning.trials[1]
    assert replayed.spending.calls == 0


def test_tuning_goes_on_without_a_model_that_does_not_answer(runtime, monkeypatch):
    config = with_overrides(
        preset("smoke"), SETTINGS | {"generator.kind": "openai", "generator.temperature": 0.5}
    )
    with ModelApi(then="overloaded") as api:
        api.configure(monkeypatch, tries=1)
        found = tune(config, runtime, 0.2, beside=True)
    assert not any(trial.reason for trial in found.tuning.trials)
    assert "No model proposes configurations: " in "".join(runtime.observer.notes)


def test_the_search_that_follows_has_what_is_left_of_the_budget():
    spent = Spending(calls=1, answered=1, prompt_tokens=1500, completion_tokens=100, cost_usd="0.25")
    left = left_of(BudgetConfig(calls=1, tokens=2000, usd=1.0), spent)
    assert (left.calls, left.tokens, left.usd, left.hours) == (1, 400, 0.75, None)
