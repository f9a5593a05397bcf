"""Rules that somebody else writes: what is learned of each is that of a search, kept, and found again."""

from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from bife_core.base.errors import GeneratorError
from bife_core.instances.base import Instance
from bife_core.language.rules import REFERENCE_RULES
from bife_core.measure.race import RULES
from bife_core.run.presets import preset, with_overrides
from bife_core.run.stages.score import lost_to, score, scored_before, undecided
from bife_core.run.study import evaluator
from bife_core.run.study.engine import Engine
from bife_core.search import Sample
from bife_core.solver.methods.references import load_method

GOOD = REFERENCE_RULES["pseudocost_product"].source
OTHER = REFERENCE_RULES["most_fractional"].source
AGAINST = "def candidate_variable_score(f):\n    return -f[18] * f[20] * f[21]\n"


@pytest.fixture
def scored(runtime, collected):
    """Return a function that scores texts in a study of their own, told apart by its seed."""

    def go(seed, *texts, fit=True, **settings):
        overrides = {"search.seed": seed, "low.tune": 0} | {
            name.replace("__", "."): value for name, value in settings.items()
        }
        rules = [(f"rule {at}", text) for at, text in enumerate(texts)]
        return list(score(with_overrides(preset("smoke"), overrides), runtime, rules, fit))

    return go


def test_a_rule_is_scored_once_whatever_process_asks(scored, monkeypatch):
    first, invalid, alike, other = scored(1, GOOD, "x = open('f')", f"{GOOD}\n# the same\n", AGAINST)
    assert first.ratio > 0
    assert first.f_hf < 0 < first.f_lf
    assert {row["rpb_cost"] > 0 for row in first.instances} == {True}
    names = [line.split(" | ")[0] for line in first.table.splitlines()]
    assert names[1:4] == [*(row["instance"] for row in first.instances), "mean of 2"]
    assert any("strong branching" in text for text in first.choices)
    assert any("strong branching" in text for text in other.choices)
    assert (first.best, first.again) == ("rule 0 (g00-c00)", False)
    assert (first.fitted, first.regret >= 0) == (False, True)
    assert (first.source, Path(first.file).read_text()) == (GOOD, GOOD)
    assert invalid.failure
    assert (invalid.f_lf, invalid.instances, invalid.file) == (None, (), None)
    assert alike.failure == f"duplicate of {first.sample}"
    assert other.rules == 4
    assert other.eliminated or other.f_hf
    assert other.solver_s > first.solver_s

    monkeypatch.setattr(Engine, "run", None)  # nothing is run
    again, *_ = scored(1, GOOD)
    assert again.again
    assert (again.sample, again.f_hf, again.table) == (first.sample, first.f_hf, first.table)


def test_what_was_scored_is_at_hand_fitted_or_as_it_was_written(scored):
    far_off = "def candidate_variable_score(f):\n    return f[61] + 0.2 * f[18]\n"
    (found,) = scored(5, far_off, low__tune=50)
    assert far_off not in (found.source, None)
    assert load_method(found.file).source == found.source
    (as_it_is,) = scored(5, far_off, fit=False, low__tune=50)
    assert (as_it_is.source, as_it_is.rules, as_it_is.again) == (far_off, 2, False)
    assert (found.fitted, as_it_is.fitted) == (True, False)
    assert as_it_is.f_lf < found.f_lf


def test_a_rule_that_loses_its_race_with_no_instance_left_has_an_f_hf(scored, runtime):
    winner, loser = scored(6, GOOD, AGAINST, high__cost="nodes")
    assert " the worst rule kept" not in loser.eliminated
    assert "times as much as rule 0 (g00-c00), the best rule before it, on 2 instances" in loser.eliminated
    assert loser.f_hf == -fmean(row["cost"] for row in loser.instances)
    assert len(loser.instances) == 2
    assert loser.f_hf < winner.f_hf
    assert (winner.undecided, loser.undecided) == ((), ("rule 0 (g00-c00)",)), "two instances tell nothing"
    assert winner.ci_low <= winner.ratio <= winner.ci_high
    assert {row["best_cost"] for row in winner.instances} == {None}, "there is no other rule"
    (again,) = scored(6, GOOD, high__cost="nodes")
    assert again.undecided == ("rule 1 (g01-c00)",)
    assert {row["instance"]: row["best_cost"] for row in loser.instances} == {
        row["instance"]: row["cost"] for row in winner.instances
    }
    overrides = {"search.seed": 6, "low.tune": 0, "high.cost": "nodes"}
    listed = scored_before(with_overrides(preset("smoke"), overrides), runtime)
    assert [(one.name, one.f_hf) for one in listed] == [("rule 0", winner.f_hf), ("rule 1", loser.f_hf)]


def test_a_rule_that_lost_its_race_is_told_to_which():
    kept = [Sample(id=f"g0{at}-c00", generation=at, operator="i1", thought=f"{at}.py") for at in range(2)]
    why = lost_to(RULES.lost({0: 9.0, 1: 9.0}, [1.0] * 8), kept)
    assert why == (
        "it took 9 times as much as 1.py (g01-c00), the worst of the 2 best rules before it, on 2 of 8 instances, "
        "more than that one took on all instances"
    )
    why = lost_to(RULES.lost(dict.fromkeys(range(6), 0.105), [0.1] * 6), kept[:1])
    assert why == "it took 5.0% more than 0.py (g00-c00), the best rule before it, on 6 instances"


def test_rules_are_told_apart_only_if_instances_that_are_independent_agree(tmp_path):
    apart = [Instance(f"{at}", tmp_path, f"{at}") for at in range(8)]
    better, mixed = [1.0, 2.0, 3.0, None] * 2, [3.0, 1.5, 4.0, 5.0] * 2
    assert not undecided(apart, better, [2.0 * (cost or 1.0) for cost in better])
    assert undecided(apart, better, mixed)
    one_day = [replace(one, group="a day") for one in apart]
    assert undecided(one_day, better, [2.0 * (cost or 1.0) for cost in better])


def test_listing_records_nothing(runtime, collected):
    others = {"search.seed": 7, "low.tune": 0}
    assert scored_before(with_overrides(preset("smoke"), others), runtime) == []
    folders = set(runtime.home.decisions.rglob("*"))
    others |= {"collection.time_limit_s": 17.0}
    assert scored_before(with_overrides(preset("smoke"), others), runtime) == []
    assert set(runtime.home.decisions.rglob("*")) == folders


def test_a_configuration_has_f_hf_alone(scored):
    lean = "separating/maxrounds = 0\nbranching/pscost/priority = 10000000\n"
    (found,) = scored(2, lean)
    assert (found.f_lf, found.failure, found.choices) == (None, None, ())
    assert found.f_hf < 0
    assert len(found.instances) == 2


def test_what_a_process_left_undone_is_done_by_the_next(scored, monkeypatch):
    def broken(*_args, **_named):
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(evaluator, "score_high", broken)
        with pytest.raises(OSError, match="No space"):
            scored(3, GOOD)
    (found,) = scored(3, GOOD)
    assert (found.sample, found.rules, found.again) == ("g00-c00", 1, False)
    assert found.f_hf < 0


def test_the_budget_is_that_of_the_study(scored):
    with pytest.raises(GeneratorError, match=r"rule 0 was not scored.*solver_s is used up"):
        scored(4, GOOD, budget__solver_s=1e-9)
    (found,) = scored(4, GOOD)
    with pytest.raises(GeneratorError, match=f"used up: {found.solver_s:.3f} of"):
        scored(4, GOOD, OTHER, budget__solver_s=1e-9)
    assert found.solver_limit_s is None
    (limited,) = scored(4, GOOD, budget__solver_s=100.0)
    assert (limited.solver_s, limited.solver_limit_s) == (found.solver_s, 100.0)
