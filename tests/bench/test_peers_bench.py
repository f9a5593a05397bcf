"""Solvers beside each other: what is read alike, what a solve counts, what is wrong, and a run that goes on."""

import json
import math
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench import peers
from bench.peers import PEERS, Arm, Solve, Solves, of_file, outcomes, shown, summary
from bench.solvers.cbc import status_of
from bife_core.instances.base import Instance
from bife_core.measure.peers import Answer, Peer, ask
from tests.support.maximised import write_maximised

FOREIGN = Path(__file__).parents[1] / "data" / "foreign"
LIMIT_S = 60.0

SCRIPT = """
from bife_core.measure.peers import serve

def solving(file, gap, seed):
    print("read", file)
    yield
    {does}

serve(solving)
print("goodbye")
"""


@pytest.fixture
def scripted(tmp_path):
    """Return a function from what a solver does after reading to the solver."""

    def make(does):
        (script := tmp_path / "solver.py").write_text(SCRIPT.replace("{does}", does))
        return Peer("scripted", "pyscipopt", (sys.executable, str(script)))

    return make


def arm(name, gap=0.0, own_gap=None, package=None):
    return Arm(name, Peer(name, package or name, (), own_gap), gap, "1")


def solves(**answers):
    return [Solve(name, "d", 0, answer) for name, answer in answers.items()]


def optimal(value, cpu_s=1.0):
    return Answer("optimal", value, cpu_s, cpu_s + 0.5)


def test_the_time_of_reading_and_of_the_process_are_apart(tmp_path, scripted):
    busy = "import time; began = time.process_time()\n    while time.process_time() < began + 0.2: pass\n"
    answer = ask(
        scripted(f"{busy}    yield {{'status': 'optimal', 'objective': seed + gap}}"), tmp_path, 9.0, 0.5, 3
    )
    assert (answer.status, answer.objective) == ("optimal", 3.5)
    assert 0.2 <= answer.cpu_s < 0.4
    assert answer.process_s > answer.cpu_s + 0.01


@pytest.mark.parametrize(
    ("does", "status", "reason"),
    [
        ("raise ValueError('no floats')", "refused", "ValueError: no floats"),
        ("import os; os.abort()", "failed", "-6"),
        ("import nowhere", "refused", "No module named 'nowhere'"),
        ("while True: pass", "limit", ""),
        ("import time; time.sleep(0.1); yield {'status': 'optimal', 'cpu_s': 1.5}", "limit", ""),
    ],
)
def test_a_solver_that_refuses_fails_or_does_not_end_is_no_proof(tmp_path, scripted, does, status, reason):
    answer = ask(scripted(does), tmp_path, 0.5)
    assert answer.status == status
    assert reason in answer.reason


def test_what_most_solvers_prove_is_right_and_scip_decides_ties():
    arms = [arm("scip"), arm("a"), arm("b"), arm("c", None, 1e-4), arm("d"), arm("e")]
    ended = {"scip": optimal(100.0), "a": optimal(90.0), "b": optimal(100.0005), "c": optimal(100.005)}
    rest = {"d": Answer("infeasible"), "e": Answer("limit", 100.0)}
    assert outcomes(arms, solves(**ended, **rest)) == ["right", "wrong", "right", "right", "wrong", "limit"]
    assert outcomes(arms, solves(a=optimal(90.0), scip=optimal(100.0))) == ["wrong", "right"]
    against = solves(scip=optimal(100.0), a=optimal(90.0), b=optimal(90.0))
    assert outcomes(arms, against) == ["wrong", "right", "right"], "SCIP too may be wrong"
    unsure = solves(scip=Answer("infeasible"), a=Answer("inforunbd"), b=optimal(1.0))
    assert outcomes(arms, unsure) == ["right", "right", "wrong"]
    settings = [arm("scip", package="pyscipopt"), arm("scip+set", package="pyscipopt"), *arms[1:3]]
    ours = solves(
        **{"scip": optimal(100.0), "scip+set": optimal(100.0), "a": optimal(90.0), "b": optimal(90.0)}
    )
    assert outcomes(settings, ours)[2] == "right", "SCIP under two settings is one solver"


def test_what_is_refused_wrong_or_does_not_end_is_charged_and_counted():
    arms = [arm("scip"), arm("fast"), arm("slow"), arm("wrong"), arm("small")]
    instances = [Instance(name, Path(name), name) for name in "de"]
    answers = {"scip": optimal(5.0, 4.0), "fast": optimal(5.0, 1.0), "wrong": optimal(6.0, 0.1)}
    answers |= {
        "slow": Answer("limit", None, LIMIT_S, LIMIT_S),
        "small": Answer("refused", reason="too large"),
    }
    every = [Solve(name, digest, 0, answer) for digest in "de" for name, answer in answers.items()]
    rows = {row["solver"]: row for row in summary(arms, instances, every, LIMIT_S)}
    assert [rows[name]["ratio"] for name in rows] == [1.0, 0.25, 15.0, 30.0, 30.0]
    assert rows["fast"]["process_ratio"] == round(1.5 / 4.5, 3)
    assert (rows["fast"]["ci_low"], rows["fast"]["ci_high"]) == (0.25, 0.25)
    counts = {name: [row[k] for k in ("right", "limit", "wrong", "refused")] for name, row in rows.items()}
    assert counts["slow"] == [0, 2, 0, 0]
    assert counts["wrong"] == [0, 0, 2, 0]
    assert counts["small"] == [0, 0, 0, 2]
    assert rows["small"]["reasons"] == ["too large"]
    assert rows["wrong"]["reasons"] == ["optimal 6 on d", "optimal 6 on e"]
    assert [shown(rows[name])["ratio"] for name in ("fast", "slow", "small")] == ["0.25", "> 15.0", "none"]


def test_a_line_that_a_kill_cut_off_is_solved_anew(tmp_path):
    kept = Solves(file := tmp_path / "solves.jsonl")
    kept.add(["scip", 0], optimal(3.0))
    with file.open("a") as text:
        text.write('{"key": ["scip", 1], "sta')
    again = Solves(file)
    assert again.answers == {json.dumps(["scip", 0]): optimal(3.0)}
    again.add(["scip", 1], optimal(4.0))
    assert len(Solves(file).answers) == 2


def test_cbc_is_judged_by_its_solution_file_for_its_exit_code_is_always_0():
    assert status_of("Optimal - objective value 107.55000000", 0) == {
        "status": "optimal",
        "objective": 107.55,
    }
    assert status_of("Optimal (within gap tolerance) - objective value -5e+20", 0)["objective"] == -5e20
    assert status_of("Stopped on time - objective value 3", 0)["status"].startswith("Stopped on time")
    assert status_of("Integer infeasible - objective value 13.0", 0) == {"status": "infeasible"}
    assert status_of("", -24)["status"] == "limit"
    assert status_of("", 1)["status"] == "failed"


def test_a_run_goes_on_where_it_stopped_and_all_read_the_same(tmp_path, monkeypatch, capsys):
    (folder := tmp_path / "models").mkdir()
    shutil.copy(FOREIGN / "lseu.mps", folder)
    write_maximised(folder / "maximised.cip")
    (folder / "quick.set").write_text("separating/maxrounds = 0\n")
    chosen = [name for name in PEERS if find_spec(PEERS[name].package)]
    options = ["--peers", *chosen, "--settings", str(folder / "quick.set"), "--method", "pscost"]
    options += ["--instances", "2", "--limit", "30", "--json", "--store", str(tmp_path / "store")]
    monkeypatch.setattr(sys, "argv", ["peers", str(folder), *options])
    peers.main()
    first, said = capsys.readouterr()
    rows = [json.loads(line) for line in first.splitlines()]
    assert {row["solver"] for row in rows} >= {*chosen, "bife pscost", f"scip+{folder / 'quick.set'}"}
    for row in rows:
        assert row["right"] == row["solves"], (row, said)
        assert row["process_s"] > row["cpu_s"]
    assert rows[0]["ratio"] == 1.0
    monkeypatch.setattr(peers, "ask", None)  # nothing is solved again
    peers.main()
    assert capsys.readouterr().out == first


def test_solvers_that_are_not_installed_are_left_out_and_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(PEERS, "absent", of_file("Absent", "no_such_package", "scip"))
    monkeypatch.setattr(
        peers, "measured", lambda arms, *_: [Solve(each.name, "d", 0, optimal(1.0)) for each in arms]
    )
    monkeypatch.setattr(peers, "benchmark_of", lambda *_: Benchmark())
    monkeypatch.setattr(sys, "argv", ["peers", str(tmp_path), "--peers", "absent", "scip"])
    peers.main()
    table, said = capsys.readouterr()
    assert said == "absent is left out: no_such_package is not installed.\n"
    assert "| scip |" in table
    assert "absent" not in table


class Benchmark:
    """One instance."""

    def instances(self, split, count):
        return [Instance("m", Path("m"), "d")]


def test_ratios_are_paired_by_instance_and_seed_and_averaged_over_groups():
    arms = [arm("scip"), arm("a")]
    groups = {"d": "day", "e": "day", "f": "other"}
    instances = [Instance(digest, Path(digest), digest, group) for digest, group in groups.items()]
    costs = {("d", 0): (8.0, 1.0), ("d", 1): (2.0, 1.0), ("e", 0): (4.0, 4.0), ("e", 1): (9.0, 9.0)}
    costs |= {("f", 0): (1.0, 4.0), ("f", 1): (1.0, 4.0)}
    every = [Solve("scip", *where, optimal(1.0, cpu_s)) for where, (cpu_s, _) in costs.items()]
    every += [Solve("a", *where, optimal(1.0, cpu_s)) for where, (_, cpu_s) in costs.items()]
    _, row = summary(arms, instances, every, LIMIT_S)
    day = (1 / 8 * 1 / 2 * 1 * 1) ** 0.25
    assert row["ratio"] == round(math.sqrt(day * 4), 3)
    assert (row["groups"], row["solves"]) == (2, 6)
