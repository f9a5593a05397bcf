"""What branches first, and that no priority is changed without need: the baseline is SCIP's default, node for node."""

import random

import pyscipopt
import pytest

from bife_core import attach, solve
from bife_core.solver.scip.branching import PLUGIN_NAME
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.settings import HIGHEST_PRIORITY, put_in_charge

MOST = HIGHEST_PRIORITY
ALL = dict.fromkeys(["mostinf", "relpscost", "pscost"], MOST)
SEEDS = (8, 11, 14, 17, 20, 25)
BY_THE_SUB_MIPS = (8, 25)
"""Seeds of instances whose tree changes with the rule that branches in sub-MIPs."""


def eager():
    """Return the parameters of eager heuristics, whose sub-MIPs branch on small instances too."""
    model = pyscipopt.Model()
    usual = model.getParams()
    model.setHeuristics(pyscipopt.SCIP_PARAMSETTING.AGGRESSIVE)
    return {name: value for name, value in model.getParams().items() if value != usual[name]}


def assignment(seed, agents=3, jobs=14):
    """Return a generalised assignment problem in which what takes long costs little."""
    rng, model = random.Random(seed), pyscipopt.Model(f"gap{seed}")
    model.hideOutput()
    takes = [[rng.randint(5, 25) for _ in range(jobs)] for _ in range(agents)]
    x = [
        [model.addVar(f"x{i}_{j}", "B", obj=111 - takes[i][j] + rng.randint(-10, 10)) for j in range(jobs)]
        for i in range(agents)
    ]
    for job in zip(*x, strict=True):
        model.addCons(pyscipopt.quicksum(job) == 1)
    for own, times in zip(x, takes, strict=True):
        whole = pyscipopt.quicksum(time * var for time, var in zip(times, own, strict=True))
        model.addCons(whole <= int(0.8 * sum(times) / agents))
    model.setParams(eager())
    return model


def nodes(model, **priorities):
    for rule, priority in priorities.items():
        model.setParam(f"branching/{rule}/priority", priority)
    model.optimize()
    return model.getNTotalNodes()


@pytest.fixture(scope="module")
def plain():
    return {seed: nodes(assignment(seed)) for seed in SEEDS}


def test_rpb_is_scips_default_node_for_node(plain, tmp_path):
    solved = {}
    for seed in SEEDS:
        model = assignment(seed)
        model.writeProblem(str(tmp_path / "gap.cip"), verbose=False)
        attach(model, "relpscost")
        solved[seed] = nodes(model)
    assert solved == plain
    raised = {seed: nodes(assignment(seed), relpscost=HIGHEST_PRIORITY) for seed in BY_THE_SUB_MIPS}
    assert all(raised[seed] != plain[seed] for seed in BY_THE_SUB_MIPS), "sub-MIPs branch"
    model = read_model(tmp_path / "gap.cip")
    model.setParams(eager())
    assert solve(tmp_path / "gap.cip", params=eager()).nodes == nodes(model)


@pytest.mark.parametrize("rule", ["pscost", "fullstrong"])
def test_another_rule_of_scip_branches_as_in_a_settings_file(rule):
    for seed in BY_THE_SUB_MIPS:
        model = assignment(seed)
        attach(model, rule)
        assert nodes(model) == nodes(assignment(seed), **{rule: 10_000_000})


@pytest.mark.parametrize(
    ("given", "rules", "changed"),
    [
        ({}, ["relpscost"], {}),
        ({}, ["pscost"], {"pscost": 10_001}),
        ({"pscost": 10_000}, ["pscost"], {"pscost": 10_001}),
        ({"pscost": 10_000_000}, ["relpscost"], {"relpscost": 10_000_001}),
        ({"relpscost": MOST}, ["relpscost"], {}),
        ({"pscost": MOST}, ["relpscost"], {"relpscost": MOST - 1, "pscost": MOST - 2}),
        ({}, ["mostinf", "relpscost"], {"mostinf": 10_001}),
        (ALL, ["mostinf", "relpscost"], {"relpscost": MOST - 1, "pscost": MOST - 3}),
    ],
)
def test_priorities_are_changed_where_they_must_be(given, rules, changed):
    model = pyscipopt.Model()
    model.setParams({f"branching/{rule}/priority": value for rule, value in given.items()})
    before = model.getParams()
    put_in_charge(model, *rules)
    after = model.getParams()
    assert {name.split("/")[1]: after[name] for name in after if after[name] != before[name]} == changed


@pytest.mark.parametrize("given", [{"guard": True}, {"budget": 0.5}])
def test_what_rpb_takes_over_from_leaves_its_priority(given):
    model = pyscipopt.Model()
    attach(model, "paper_ca", **given)
    priorities = [model.getParam(f"branching/{rule}/priority") for rule in (PLUGIN_NAME, "relpscost")]
    assert priorities == [HIGHEST_PRIORITY, 10_000]


class Own(pyscipopt.Branchrule):
    """Stands for the branching rule that a pricer relies on."""

    def branchexeclp(self, allowaddcons):
        return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}


@pytest.mark.parametrize("rule", ["paper_ca", "pscost", "relpscost"])
def test_who_displaces_a_rule_of_the_models_own_is_warned(rule, recwarn):
    for priority, warned in ((10**6, 1), (5_000, 0)):
        model = pyscipopt.Model()
        model.includeBranchrule(Own(), "ryanfoster", "", priority=priority, maxdepth=-1, maxbounddist=1.0)
        attach(model, rule)
        files = [warning.filename for warning in recwarn if "ryanfoster" in str(warning.message)]
        assert files == [__file__] * warned
        recwarn.clear()
