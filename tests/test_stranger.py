"""The public interface as a stranger to the project uses it, end to end."""

import copy
import pickle

import pyscipopt
import pytest

import bife_core
from bife_core.instances.config import InstancesConfig
from bife_core.measure.decisions.config import CollectionConfig


def by_fractionality(f):
    return f[24] * (1.0 - f[24])


@pytest.mark.usefixtures("quick_auctions")
def test_a_function_becomes_a_rule_that_pickles_scores_solves_and_compares(knapsacks, pool, tmp_path):
    rule = bife_core.compile_rule(by_fractionality)
    assert isinstance(rule, bife_core.CompiledRule)
    for same in (pickle.loads(pickle.dumps(rule)), copy.deepcopy(rule)):
        assert (same.name, same.sha, same.features) == ("by_fractionality", rule.sha, frozenset({24}))

    benchmark = bife_core.open_benchmark(InstancesConfig(size="tiny"), tmp_path / "instances")
    config = CollectionConfig(decisions=5, time_limit_s=30)
    summary = bife_core.collect_decisions(benchmark, config, tmp_path, pool)
    recorded = bife_core.Decisions.load(summary.path)
    file = tmp_path / "mine.py"
    file.write_text(rule.source)
    scores = {
        bife_core.low_fidelity(given, recorded)
        for given in (rule, by_fractionality, file, str(file), bife_core.load_method(file))
    }
    assert len(scores) == 1
    assert 0.0 <= scores.pop() <= 1.0
    assert 0.0 <= bife_core.low_fidelity("pseudocost_product", recorded) <= 1.0

    paths = [instance.path for instance in knapsacks[:2]]
    given = {"seeds": (0, 1), "time_limit_s": 30, "workers": 1, "store": tmp_path}
    result = bife_core.compare([rule, "pscost"], paths, **given)
    assert {"instance", "seed", "method", "cpu_s", "nodes"} <= set(result.frame.columns)
    assert len(result.frame) == 2 * 2 * 3
    assert "by_fractionality" in result.conclusion
    bife_core.plot(result).savefig(tmp_path / "costs.png")
    again = bife_core.compare([rule, "pscost"], paths, **given)
    assert again.frame["cpu_s"].tolist() == result.frame["cpu_s"].tolist(), "solves are kept"

    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(paths[0]))
    stats = bife_core.attach(model, by_fractionality, guard=True)
    model.optimize()
    assert model.getStatus() == "optimal"
    assert stats.calls > 0
    assert bife_core.solve(paths[0], by_fractionality).method == "by_fractionality"


def test_every_public_name_can_be_imported():
    assert all(getattr(bife_core, name) is not None for name in bife_core.__all__)
    assert sorted(bife_core.__all__) == dir(bife_core)
    with pytest.raises(AttributeError, match="no_such_name"):
        bife_core.no_such_name  # noqa: B018
