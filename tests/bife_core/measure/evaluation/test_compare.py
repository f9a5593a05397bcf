"""`bife_core.compare` with real solves; tests/test_stranger.py calls it as a user does, with workers."""

import pytest
from matplotlib.figure import Figure

import bife_core
from bife_core.instances.base import Instance
from bife_core.measure.evaluation.compare import given_instances
from bife_core.measure.evaluation.comparison import compare_methods, compare_pair, headline, statement
from bife_core.measure.evaluation.metrics import solve_frame
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method
from tests.bife_core.measure.evaluation.test_comparison import row, rows

AT_ROOT = """\
* maximise x where x <= 3.5 leaves nothing to branch on
NAME root
OBJSENSE
    MAX
ROWS
 N obj
 L c
COLUMNS
    MARKER 'MARKER' 'INTORG'
    x obj 1 c 1
    MARKER 'MARKER' 'INTEND'
RHS
    RHS c 3.5
BOUNDS
 UP BND x 10
ENDATA
"""


@pytest.mark.usefixtures("in_process")
def test_methods_are_compared_on_files_and_instances(knapsacks, tmp_path):
    trivial, other = (tmp_path / day / "root.mps" for day in ("monday", "tuesday"))
    for file, limit in ((trivial, "3.5"), (other, "5.5")):
        file.parent.mkdir()
        file.write_text(AT_ROOT.replace("3.5", limit))

    methods, instances = (
        ["pscost", bife_core.load_rule("paper_ca")],
        [*knapsacks[:1], trivial, str(trivial), other],
    )
    options = {"settings": "paper", "metric": "nodes", "time_limit_s": 30, "workers": 1}
    result = bife_core.compare(methods, instances, **options, store=tmp_path / "store")
    assert len(result.frame) == 3 * 3
    optima = result.frame[result.frame["method"] == "pscost"].set_index("instance")["primal_bound"]
    assert optima[["monday/root.mps", "tuesday/root.mps"]].tolist() == [3.0, 5.0]
    assert (result.mismatches, result.failures) == ((), ()), "what is called alike is not the same"
    assert set(result.frame["method"]) == {"pscost", "paper_ca", "relpscost"}
    assert [c.method for c in result.comparisons] == ["pscost", "paper_ca"]
    assert {(c.instances, c.unbranched) for c in result.comparisons} == {(1, 2)}
    assert result.conclusion.count("2 left out because no method branches on them") == 2
    assert repr(result).startswith("EvaluationSummary(nodes over RPB's: pscost ")
    assert len(repr(result)) < 200
    assert isinstance(bife_core.plot(result), Figure)
    served = bife_core.Store(tmp_path / "store").served()
    assert {len(one.comparisons) for one in served.values()} == {1}, "a rule of ours counts, pscost does not"
    assert {one.digest for one in knapsacks[:1]} <= served.keys()


def test_instances_without_branching_change_no_ratio_and_no_test():
    ratios = [0.5, 0.6, 0.7, 0.55, 0.65, 0.62, 0.58, 0.52]
    (alone,) = compare_methods(solve_frame(rows(ratios)), ("rule",), "relpscost")
    seconds = {"rule": 9.0, "relpscost": 1.0}
    trivial = [row(f"t{k}", method, cpu_s, nodes=1) for k in range(5) for method, cpu_s in seconds.items()]
    (found,) = compare_methods(solve_frame([*rows(ratios), *trivial]), ("rule",), "relpscost")
    assert found == alone.model_copy(update={"unbranched": 5})
    assert "8 instances, 5 left out because no method branches on them" in statement(found)
    (none,) = compare_methods(solve_frame(trivial), ("rule",), "relpscost")
    assert none.finding == "undecided"
    assert "no method branches on any of 5 instances" in statement(none)


def test_settings_are_compared_where_no_method_branches_too_and_rules_beside_them_are_not():
    """A method that branches elsewhere changes nothing between two others."""
    solves = [("lean", 1.0, 1), ("rule", 2.0, 1), ("other", 9.0, 50), ("relpscost", 3.0, 1)]
    root = [row(f"t{k}", method, cpu_s, nodes=nodes) for k in range(10) for method, cpu_s, nodes in solves]
    tree = [row("i", method, 3.0) for method in ("lean", "rule", "other", "relpscost")]
    rule, params = load_method("paper_ca"), {"separating/maxrounds": 0}
    lean, other = Configuration(params=params), Configuration(params=params, branching=rule)
    frame = solve_frame([*root, *tree], methods={"lean": lean, "rule": rule, "other": other})
    found = compare_methods(frame, ("lean", "rule", "other"), "relpscost")
    assert [(one.instances, one.unbranched) for one in found] == [(11, 0), (1, 10), (11, 0)]
    assert (found[0].ratio, found[0].finding) == (pytest.approx(3 ** (-10 / 11)), "better")
    both = compare_pair(frame, "lean", "other", "time", 0.95, "these")
    assert (both.instances, both.unbranched) == (11, 0)


@pytest.mark.parametrize(
    ("metric", "known"),
    [
        ("time", [{"cpu_s": 0.001}, {"cpu_s": 0.009}]),
        ("primal_dual_integral", [{"primal_dual_integral": 0.017}, {"primal_dual_integral": 1.015}]),
        ("gap", [{"gap": 0.0, "status": "timelimit"}, {"gap": 9e-5, "status": "timelimit"}]),
    ],
)
def test_solves_within_the_clocks_resolution_give_no_ratio(metric, known):
    facts = list(zip(("rule", "relpscost"), ({"cpu_s": 1.0, **own} for own in known), strict=True))
    made = [row(f"i{k}", method, **own) for k in range(9) for method, own in facts]
    (found,) = compare_methods(solve_frame(made), ("rule",), "relpscost", metric)
    assert (found.instances, found.short, found.ratio, found.finding) == (9, 9, 1.0, "undecided")
    assert "solves are too short to compare" in statement(found)
    assert "ratio" not in statement(found)
    assert headline(found).startswith("Solves are too short to compare (")
    costs = {"rule": 30.0, "relpscost": 60.0}
    longer = [row("i", name, cost, primal_dual_integral=cost, gap=cost) for name, cost in costs.items()]
    (mixed,) = compare_methods(solve_frame([*made, *longer]), ("rule",), "relpscost", metric)
    assert (mixed.instances, mixed.short) == (10, 9)
    assert "9 of them too short to differ" in statement(mixed)


def test_a_name_of_a_family_stands_for_its_first_test_instances(tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    instances = given_instances("set_covering")
    assert len(instances) == 20
    assert instances[0].name == "SC-test-test-0000"
    (tmp_path / "set_covering").mkdir()
    (tmp_path / "set_covering" / "root.mps").write_text(AT_ROOT)
    assert [instance.name for instance in given_instances("set_covering")] == ["root.mps"]


def test_instances_have_names_of_their_own_wherever_they_lie(tmp_path):
    def file(path, limit):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(AT_ROOT.replace("3.5", f"{limit}.5"))
        return tmp_path / path

    def names(*given):
        return [one.name for one in given_instances(given)]

    one, two = file("x/day0/m.mps", 1), file("x/day1/m.mps", 2)
    three, same, alone = file("y/day0/m.mps", 3), file("y/copy.mps", 1), file("n.mps", 4)
    assert names(tmp_path / "x") == ["day0/m.mps", "day1/m.mps"]
    assert names(one, two, alone) == ["day0/m.mps", "day1/m.mps", "n.mps"]
    assert names(one, three, alone) == ["x/day0/m.mps", "y/day0/m.mps", "n.mps"]
    assert names(tmp_path / "x", tmp_path / "y") == ["x/day0/m.mps", "day1/m.mps", "y/day0/m.mps"]
    distinct = ["copy.mps", "n.mps", "x/day1/m.mps", "y/day0/m.mps"]
    assert names(same, one, tmp_path) == names(same, tmp_path) == distinct
    made = [Instance("mine", path, digest) for path, digest in ((one, "1"), (two, "2"), (two, "3"))]
    assert names(*made[:2]) == ["day0/m.mps", "day1/m.mps"]
    assert len({*names(*made)}) == 3, "a file that has changed meanwhile"


def test_a_missing_solve_is_no_solve_without_branching():
    failures = {"rule": "it hung", "relpscost": None}
    lost = [row("t", method, 1.0, nodes=1, failure=failure) for method, failure in failures.items()]
    made = [solve | {"failure": None} for solve in rows([0.5, 0.6])]
    (found,) = compare_methods(solve_frame([*made, *lost], 10.0), ("rule",), "relpscost")
    assert (found.instances, found.unbranched, found.missing) == (3, 0, 1)
