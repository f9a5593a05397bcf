from bife_core.measure.config import HighFidelityConfig
from bife_core.measure.context import Reference
from bife_core.measure.high import HighScore
from bife_core.run.study.prompt_context import execution
from tests.support.measured import solved

CONFIG = HighFidelityConfig(time_limit_s=10.0)


def solve(cpu_s, nodes, status="optimal", **known):
    result = solved("relpscost", 0, cpu_s, nodes=nodes).result
    assert result is not None
    return result.model_copy(update={"status": status, **known})


def score(results, costs):
    return HighScore(results=tuple(results), costs=tuple(costs))


RPB = Reference(results=(solve(2.0, 11, root_s=1.0), None, solve(4.0, 41), solve(1.0, 5)))


def test_nodes_time_a_node_and_cost_stand_beside_those_of_rpb_and_of_the_best_rule():
    # The machine was twice as slow in the first solve, whose root takes half of its 6 s; the second was not made.
    rule = score(
        [solve(6.0, 31, root_s=3.0, feature_s=0.3), solve(10.0, 101, "timelimit")], [3.0, None, 10.0, None]
    )
    best = score([solve(1.5, 11), solve(5.0, 41)], [1.5, None, 5.0, None])
    text = execution(rule, RPB, best, CONFIG)
    assert text.split("\n") == [
        "instance | nodes | x RPB | ms/node | x RPB | CPU s | x RPB | x best",
        "3 | 101 | 2.46 | 100 | 1.00 | 10 (limit) | 2.50 | 2.00",
        "1 | 31 | 2.82 | 50 | 0.50 | 3 | 1.50 | 2.00",
        "mean of 2 |  | 2.63 |  | 0.71 |  | 1.94 | 2.00",
        "",
        "Of its CPU time the root took 19%, features 1.88% and the rule's code 0.00%.",
    ]
    assert "x best" not in execution(rule, RPB, None, CONFIG)


def test_a_rule_without_a_solve_has_no_table_and_one_solved_at_the_root_no_time_a_node():
    assert execution(score([], [None] * 4), RPB, None, CONFIG) == ""
    text = execution(score([solve(1.0, 1)], [None, None, None, 1.0]), RPB, None, CONFIG)
    assert "4 | 1 | 0.20 |  | - | 1 | 1.00" in text
    presolved = Reference(results=(solve(1.0, 0),))
    assert "1 | 0 | 1.00 |  | - | 1 | 1.00" in execution(
        score([solve(1.0, 0)], [1.0]), presolved, None, CONFIG
    )
    nodes = execution(
        score([solve(1.0, 10)], [None, None, None, 10.0]), RPB, None, HighFidelityConfig(cost="nodes")
    )
    assert "| nodes | x RPB\n4 | 10 | 2.00 | 111 | 0.44 | 10 | 2.00" in nodes


def test_of_many_instances_the_slowest_and_the_fastest_against_rpb_are_shown():
    reference = Reference(results=tuple(solve(1.0, 5) for _ in range(20)))
    costs = [float(k) for k in range(1, 21)]
    text = execution(score([solve(cost, 5) for cost in costs], costs), reference, None, CONFIG)
    rows = [line.split(" | ")[0] for line in text.split("\n")]
    assert rows[1:10] == ["20", "19", "18", "17", "4", "3", "2", "1", "mean of 20"]
