"""The final rule: the best on validation instances, whatever F_HF said."""

import pytest

from bife_core.base.errors import SolverError
from bife_core.instances.base import Instance
from bife_core.measure.context import SolveContext
from bife_core.measure.evaluation.choice import choose
from bife_core.run.config import HighFidelityConfig
from bife_core.run.stages.pipeline import finalists
from bife_core.search import Sample
from bife_core.solver.methods.loading import load_rule
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.scip.settings import SolverConfig
from bife_core.store import Store

NODES = HighFidelityConfig(cost="nodes", time_limit_s=60)


def named(name, source):
    return RuleMethod(name=name, source=source)


@pytest.fixture
def two(knapsacks):
    return knapsacks[:2]


def test_the_rule_with_fewest_nodes_there_is_chosen(two, pool, tmp_path):
    worse, better = (
        named("first", load_rule("most_fractional").source),
        named("second", load_rule("pseudocost_product").source),
    )
    choice = choose([worse, better], two, SolveContext(NODES, SolverConfig(), pool, Store(tmp_path)))
    assert choice.chosen == max(choice.scores, key=lambda name: choice.scores[name] or -1e9)
    assert choice.sentence == (
        "second has the best F_HF of 2 methods on 2 validation instances and so replaces first."
    )
    rows = {(row["method"], row["status"], row["failure"]) for row in choice.solves}
    assert rows == {("first", "optimal", None), ("second", "optimal", None)}
    nodes = [row["nodes"] for row in choice.solves if row["method"] == "second"]
    assert -sum(nodes) / 2 == choice.scores["second"]
    alone = choose([better], two, SolveContext(NODES, SolverConfig(), pool, Store(tmp_path)))
    assert alone.scores["second"] == choice.scores["second"]


def test_without_a_rule_that_solves_them_all_there_is_an_error(pool, tmp_path):
    gone = Instance("gone", tmp_path / "gone.mps", "0" * 16)
    with pytest.raises(SolverError, match=r"RPB fails on all validation instances.*gone"):
        choose(
            [named("a", load_rule("paper_ca").source)],
            [gone],
            SolveContext(NODES, SolverConfig(), pool, Store(tmp_path)),
        )


def test_an_instance_rpb_fails_on_is_set_aside_and_a_rule_that_leaves_all_to_scip_is_not_chosen(
    two, pool, tmp_path
):
    gone = Instance("gone", tmp_path / "gone.mps", "0" * 16)
    idle = named("idle", "def candidate_variable_score(f): return math.nan")
    notes = []
    choice = choose(
        [idle, named("sound", load_rule("pseudocost_product").source)],
        [gone, *two],
        SolveContext(NODES, SolverConfig(), pool, Store(tmp_path), notes.append),
    )
    assert (choice.chosen, choice.scores["idle"], choice.instances) == ("sound", None, 2)
    assert [note for note in notes if note.startswith("gone is set aside in validation")]


def sample(name, f_hf, sha, failure=None):
    return Sample(
        id=name, generation=0, operator="i1", sha=sha, source="x", f_lf=0.5, f_hf=f_hf, failure=failure
    )


def test_finalists_are_distinct_rules_with_the_best_f_hf():
    found = finalists(
        [
            sample("a", -3.0, "1"),
            sample("b", -1.0, "2"),
            sample("c", -1.0, "2"),
            sample("d", None, "3"),
            sample("e", -2.0, "4"),
            sample("f", -0.5, "5", failure="It raised."),
        ],
        2,
    )
    assert [one.id for one in found] == ["b", "e"]
    assert finalists([], 3) == ()
