"""Starts in Python: what they may do and may not, in the user's process and in a worker, and what misuse costs."""

import json

import numpy as np
import pytest

from bife_core import solve
from bife_core.base.errors import SolverError
from bife_core.base.wording import counted
from bife_core.instances.config import FAMILIES
from bife_core.instances.generated import GeneratedBenchmark
from bife_core.measure.solves import SolveJob, run_solves
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.solutions import solution_of
from bife_core.solver.scip.solve import SolveSettings
from bife_core.solver.starts.confined import run
from bife_core.store import Store
from bife_core.workers import WorkerPool


@pytest.fixture(scope="module", autouse=True)
def _confined(pool):
    """Skip where the system lacks what refuses files and system calls: Linux has it."""
    measures = pool.submit("bife_core.workers.selftest:describe", {}, limit_s=20).result()["in_force"]
    if any(measures[name].startswith("no:") for name in ("files", "calls")):
        pytest.skip("this system confines no process")


@pytest.fixture(scope="module")
def placement(tmp_path_factory):
    folder = tmp_path_factory.mktemp("starts")
    return GeneratedBenchmark(FAMILIES["item_placement"], "tiny", 0, folder).instance("test", 1)


@pytest.fixture(scope="module")
def solution(placement):
    """The optimum, in a file beside the instance."""
    model = read_model(placement.path)
    model.optimize()
    placement.path.with_name("optimum.json").write_text(json.dumps(solution_of(model)))
    return solution_of(model)


def written(source, limit_s=30.0):
    return Configuration(start={"name": "ours", "source": source, "limit_s": limit_s})


GREEDY = """
import time

import numpy as np

def start(problem):
    while time.process_time() < 0.35:  # CPU seconds that the solve has to be charged for
        pass
    values = np.full(len(problem.names), np.nan)
    place = {name: k for k, name in enumerate(problem.names)}
    for item in range(5):
        values[[place[f"place_{item}_{b}"] for b in range(3)]] = 0.0
        values[place[f"place_{item}_{problem.rng.integers(3)}"]] = 1.0
    x, reduced = problem.lp
    assert x.shape == reduced.shape == problem.objective.shape
    assert problem.rows.shape == (len(problem.lhs), len(x)) and problem.row_names[0] == "copies_ct_0"
    assert problem.binary.sum() == 48
    complete = problem.solve_restricted(values, 1)
    return [complete, dict(zip(problem.names, complete))]
"""


def test_a_start_in_python_sees_the_problem_and_is_charged_for_its_process(placement, tmp_path):
    method = written(GREEDY)
    (file := tmp_path / "ours.json").write_text(method.text)
    result = solve(placement.path, file)
    assert "SCIP got 2 starts, the best with an objective of " in result.start
    assert result.status == "optimal"
    assert result.start_s > 0.3  # which this process alone took
    assert result.cpu_s > result.start_s
    again, other = solve(placement.path, load_method(file)), solve(placement.path, file, seed=3)
    objective = [solved.start.rpartition(" ")[2] for solved in (result, again, other)]
    assert objective[0] == objective[1] != objective[2]


def test_without_rows_arrays_are_of_the_same_types(tmp_path):
    (file := tmp_path / "a.lp").write_text("Maximize\n o: x\nBounds\n x <= 3\nGenerals\n x\nEnd\n")
    source = "def start(problem): return problem.upper + problem.data[~problem.initial].sum()"
    assert solve(file, written(source)).start.endswith("SCIP got 1 start, the best with an objective of 3.")


def test_an_earlier_solution_comes_with_the_method(placement, solution):
    source = "def start(problem):\n    return dict(problem.solutions[-1])"
    method = written(source)
    method = method.model_copy(update={"start": method.start.model_copy(update={"solutions": (solution,)})})
    assert "SCIP got 1 start, the best with an objective of 8.3026673" in solve(placement.path, method).start


NO_NUMBER = "it failed: ValueError: could not convert string to float"
MISUSE = {
    "hang": ("while True:\n        pass", "it failed: it was ended after 1.5 s."),
    "sleep": ("import time; time.sleep(100)", "it failed: it was ended after 1.5 s."),
    "nothing": ("return None", "SCIP got 0 starts."),
    "nan": ("return problem.objective * float('nan')", "infinite values or none."),
    "megabyte": ("return [0.0] * 150_000", "it had one of the shape (150000,)."),
    "megabyte of text": ("return 'x' * 1_000_000", f"{NO_NUMBER}: 'xxx"),
    "megabyte of error": ("raise ValueError('x' * 1_000_000)", "it failed: ValueError: xxx"),
    "gigabytes": ("return [0.0] * 500_000_000", "it failed: MemoryError"),
    "many": ("return [problem.objective * 0] * 10_000", "SCIP got 0 starts; 5 were infeasible."),
    "number": (
        "return 3.0",
        "it failed: it returned a float, no array, dictionary or list of these.",
    ),
    "generator": ("return (0.0 for _ in range(9))", "it returned a generator, no array, dictionary or list"),
    "good and wrong": (
        "return [problem.solve_restricted(problem.lower + float('nan'), 9), [1.0]]",
        "one of the shape (1,).",
    ),
    "text": ("return 'a solution'", NO_NUMBER),
    "exit": ("import os; os._exit(3)", "it failed: The worker process ended with exit code 3 during"),
    "crash": ("import ctypes; ctypes.string_at(0)", "The worker process was killed by SIGSEGV during"),
    "error": ("raise KeyError('bin')", "it failed: KeyError: 'bin'."),
    "write": ("open('/tmp/bife_start_was_here', 'w')", "it failed: PermissionError"),
    "socket": ("import socket; socket.socket()", "it failed: PermissionError"),
    "process": ("import subprocess; subprocess.run(['true'])", "it failed: PermissionError"),
    "fork": ("import os; os.fork()", "it failed: PermissionError"),
    "answer": (
        'import os\n    for fd in range(3, 60):\n        try: os.write(fd, b\'{"ready": true, "ok": true}\\n\')\n'
        "        except OSError: pass\n    return problem.objective * 0",
        "CPU seconds; ",  # whether the forged line or the answer is read first, nothing of it is a solution
    ),
}


@pytest.mark.parametrize("name", MISUSE)
def test_misuse_costs_its_time_and_a_sentence(name, placement):
    body, sentence = MISUSE[name]
    result = solve(placement.path, written(f"def start(problem):\n    {body}", limit_s=1.5))
    assert sentence in result.start
    assert len(result.start) < 400
    assert result.status == "optimal"
    assert result.primal_bound == pytest.approx(8.3026673)
    assert result.cpu_s >= result.start_s > 0.1
    assert result.start_s < 10.0


@pytest.mark.parametrize("several", ["[{0}]", "[{0}, None]", "[None, {0}]", "[None, {0}, {0}]", "({0},)"])
def test_starts_may_be_dictionaries_or_none_in_any_order(several, placement, solution):
    body = f"solution = {solution!r}\n    return {several.format('solution')}"
    result = solve(placement.path, written(f"def start(problem):\n    {body}"))
    assert f"SCIP got {counted(several.count('{0}'), 'start')}, the best with" in result.start


def test_python_is_not_run_where_nothing_confines_it():
    lacks = r"this machine cannot confine Python \(files, calls: see `bife doctor`\)"
    with pytest.raises(SolverError, match=lacks):
        run("raise AssertionError", {})


CHEAT = """
import json

def start(problem):
    return json.load(open({path!r}))
"""


@pytest.mark.parametrize("where", ["here", "worker"])
def test_a_start_cannot_read_the_solutions_file(where, placement, solution, tmp_path):
    cheat = written(CHEAT.format(path=str(placement.path.with_name("optimum.json"))))
    honest = written(GREEDY)
    if where == "here":
        refused, taken = (solve(placement.path, method) for method in (cheat, honest))
    else:
        methods, settings = (cheat, honest, load_method("relpscost")), SolveSettings(time_limit_s=30.0)
        jobs = [SolveJob(instance=placement, method=method, settings=settings) for method in methods]
        with WorkerPool(1) as pool:
            refused, taken, usual = (solved.result for solved in run_solves([jobs], Store(tmp_path), pool))
        assert usual.start == ""
    assert "it failed: PermissionError: [Errno 13] Permission denied: " in refused.start
    assert "SCIP got 2 starts" in taken.start
    assert refused.primal_bound == pytest.approx(taken.primal_bound)
    assert np.isfinite(solution["max_deficit_0"])
