"""The final rule: the best on validation instances, whatever F_HF said."""

import pytest

from bife_core.base.errors import SolverError
from bife_core.instances.base import Instance
from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import SolveContext
from bife_core.measure.evaluation.choice import choose
from bife_core.run.stages.pipeline import finalists
from bife_core.search import Sample
from bife_core.solver.methods.references import load_rule
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.scip.settings import SolverConfig
from bife_core.store import Store

SOUND = load_rule("pseudocost_product").source


@pytest.fixture
def chosen(pool, tmp_path):
    """Return a function that chooses among rules, given by name and source."""
    config = HighFidelityConfig(cost="nodes", time_limit_s=60)

    def choice(instances, note=None, **sources):
        rules = [RuleMethod(name=name, source=source) for name, source in sources.items()]
        return choose(rules, instances, SolveContext(config, SolverConfig(), pool, Store(tmp_path), note))

    return choice


@pytest.fixture
def gone(tmp_path):
    return Instance("gone", tmp_path / "gone.mps", "0" * 16)


def test_the_rule_with_fewest_nodes_there_is_chosen(knapsacks, chosen):
    choice = chosen(knapsacks[:2], first=load_rule("most_fractional").source, second=SOUND)
    assert choice.chosen == max(choice.scores, key=lambda name: choice.scores[name] or -1e9)
    assert choice.sentence == (
        "second has the best F_HF of 2 methods on 2 validation instances and so replaces first."
    )
    rows = {(row["method"], row["status"], row["failure"]) for row in choice.solves}
    assert rows == {("first", "optimal", None), ("second", "optimal", None)}
    nodes = [row["nodes"] for row in choice.solves if row["method"] == "second"]
    assert -sum(nodes) / 2 == choice.scores["second"]
    assert chosen(knapsacks[:2], second=SOUND).scores["second"] == choice.scores["second"]


def test_without_a_rule_that_solves_them_all_there_is_an_error(gone, chosen):
    with pytest.raises(SolverError, match=r"RPB fails on all validation instances.*gone"):
        chosen([gone], a=load_rule("paper_ca").source)


def test_an_instance_rpb_fails_on_is_set_aside_and_a_rule_that_leaves_all_to_scip_is_not_chosen(
    knapsacks, gone, chosen
):
    notes, idle = [], "def candidate_variable_score(f): return math.nan"
    choice = chosen([gone, *knapsacks[:2]], notes.append, idle=idle, sound=SOUND)
    assert (choice.chosen, choice.scores["idle"], choice.instances) == ("sound", None, 2)
    assert [note for note in notes if note.startswith("gone is set aside in validation")]


def test_finalists_are_distinct_rules_with_the_best_f_hf():
    measured = [("a", -3.0, "1"), ("b", -1.0, "2"), ("c", -1.0, "2"), ("d", None, "3"), ("e", -2.0, "4")]
    fields = {"generation": 0, "operator": "i1", "source": "x", "f_lf": 0.5}
    samples = [Sample(id=name, f_hf=f_hf, sha=sha, **fields) for name, f_hf, sha in measured]
    samples.append(Sample(id="f", f_hf=-0.5, sha="5", failure="It raised.", **fields))
    assert [sample.id for sample in finalists(samples, 2)] == ["b", "e"]
    assert finalists([], 3) == ()
