import re
import signal
import subprocess
import time

import pytest

from bife_core.instances.formulation import likeness_of
from bife_core.registry.local import LocalRegistry
from bife_core.solver.methods.attach import solve
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.libscip import scip_version
from bife_core.solver.scip.reader import read_model
from bife_core.solver.starts.method import StartMethod
from bife_core.store import Store
from tests.support.programs import FOREIGN, SHELL, environment, python, sentence, shell
from tests.support.registered import champion_in

LSEU = FOREIGN / "lseu.mps"
NODES = re.compile(r"Solving Nodes +: (\d+)(?: \(total of (\d+) nodes)?")


def nodes(run):
    """Return how many nodes SCIP says that its command line took."""
    assert run.returncode == 0, run.stderr
    counts = NODES.findall(run.stdout)
    return int(counts[-1][1] or counts[-1][0])


@pytest.fixture(scope="module")
def instance(knapsacks):
    return knapsacks[0].path


@pytest.fixture(scope="module")
def configuration(tmp_path_factory):
    """A file of a configuration with both settings and a rule."""
    parts = {"params": {"separating/maxrounds": 0}, "branching": load_method("pseudocost_product")}
    made = Configuration(name="lean", **parts)
    file = tmp_path_factory.mktemp("configuration") / "lean.json"
    file.write_text(made.text)
    return file


def test_each_kind_of_reference_takes_the_nodes_of_solve(instance, configuration, tmp_path):
    methods = ["relpscost", "pscost", "pseudocost_product", "paper_ca,budget=0.3", str(configuration)]
    taken = {method: nodes(shell("--rule", method, "-f", instance, home=tmp_path)) for method in methods}
    assert taken == {method: solve(instance, method).nodes for method in methods}
    assert len(set(taken.values())) > 2
    words = ["-c", f'read "{instance}"', "-c", "optimize", "-c", "quit"]
    by_variable = shell(*words, BIFE_RULE=str(configuration))
    assert nodes(by_variable) == taken[str(configuration)]


def test_output_and_exit_codes_are_those_of_scip(instance, tmp_path):
    bare = shell("-v", home=tmp_path)
    version = f"SCIP version {scip_version()} "
    assert bare.stdout.startswith(version)
    assert (bare.returncode, bare.stderr) == (0, "")
    assert shell("--rule", "pscost", "--version", home=tmp_path).stdout == bare.stdout
    helps = shell("--help", home=tmp_path).stdout
    assert helps.startswith("bife-scip --rule REFERENCE ... : what branches;")
    assert "-s <settings> : load parameter settings" in helps
    first = shell("-f", instance, home=tmp_path)
    assert first.stdout.startswith(version)
    assert nodes(first) == solve(instance).nodes
    missing = [shell(*words, "-f", "missing.lp", home=tmp_path) for words in ([], ["--rule", "pscost"])]
    assert [run.returncode for run in missing] == [0, 0]
    assert [run.stdout == missing[0].stdout for run in missing] == [True, True]
    assert [run.stderr for run in missing] == [missing[0].stderr] * 2
    assert "ERROR: cannot open file <missing.lp>" in missing[0].stderr
    failed = [shell(*words, "missing", "-AMPL", home=tmp_path) for words in ([], ["--rule", "pscost"])]
    assert [run.returncode for run in failed] == [255, 255]
    assert failed[0].stderr == failed[1].stderr


def test_what_the_user_sets_wins(instance, configuration, tmp_path):
    (tmp_path / "own.set").write_text("limits/nodes = 1\nbranching/pscost/priority = 536870911\n")
    run = shell(
        *("--rule", configuration, "-s", "own.set", "-c", f"read {instance} optimize"),
        *("-c", "set separating maxrounds 3", "-c", "set diffsave changed.set quit"),
        cwd=tmp_path,
    )
    assert "node limit reached" in run.stdout
    changed = {*(tmp_path / "changed.set").read_text().splitlines()}
    assert {"limits/nodes = 1", "separating/maxrounds = 3"} < changed
    assert "branching/pscost/priority = 536870911" in changed


def test_a_start_and_inequalities_are_given_once_the_model_is_read(instance, tmp_path):
    (file := tmp_path / "a.json").write_text(Configuration(start="restricted", inequalities="knapsack").text)
    run = shell("--rule", file, "-f", instance, home=tmp_path)
    assert "transformed 2/2 original solutions" in run.stdout, "the trivial one and the start"
    assert f"Primal Bound       : {solve(instance).primal_bound:+.14e}" in run.stdout
    assert run.stderr == ""


def test_a_start_that_fails_is_a_warning_and_the_solve_goes_on(instance, tmp_path):
    start = StartMethod(name="ours", source="def start(problem):\n    return [[0.5]]")
    (file := tmp_path / "a.json").write_text(Configuration(start=start).text)
    run = shell("--rule", file, "-f", instance, home=tmp_path)
    assert nodes(run) == solve(instance).nodes
    assert re.match(
        r"bife-scip: The start method ours took .* it failed: a start has \d+ finite values", run.stderr
    )


def test_it_speaks_ampl(instance, configuration, tmp_path):
    read_model(instance).writeProblem(str(tmp_path / "stub.nl"), verbose=False)
    run = shell("--rule", configuration, "stub", "-AMPL", cwd=tmp_path)
    plain = shell("--rule", configuration, "-c", "read stub.nl opt q", cwd=tmp_path)
    assert nodes(run) == nodes(plain)
    assert (tmp_path / "stub.sol").read_text().startswith("optimal solution found\n")


def test_the_champion_branches_on_instances_it_was_made_for_alone(knapsacks, instance, tmp_path):
    with_champion = tmp_path / "home"
    registry = LocalRegistry(Store(with_champion))
    likeness = likeness_of([each.path for each in knapsacks]).model_dump_json()
    rule = load_method("pseudocost_product")
    champion_in(registry, "bife-knapsacks", 0, rule, likeness=likeness)
    said = "models:/bife-knapsacks@champion branches. It was measured on instances like this"
    quoted = ["-c", f'r "{instance}"', "-c", "o q"]
    for words in (["-f", instance], ["-c", f"read {instance} optimize quit"], quoted):
        run = shell(*words, home=with_champion)
        assert said in run.stderr
        assert nodes(run) == solve(instance, rule).nodes
    run = shell("-f", LSEU, home=with_champion)
    assert "relpscost branches. No champion was made for instances like this one" in run.stderr
    assert nodes(run) == solve(LSEU).nodes
    assert shell("-c", "quit", home=with_champion).stderr == ""
    assert shell("-f", instance, home=with_champion, BIFE_RULE="relpscost").stderr == ""


def test_bad_references_end_in_one_sentence(instance, tmp_path):
    run = shell("--rule", "nonsuch", "-f", instance)
    assert "nonsuch" in sentence(run.stderr)
    assert (run.returncode, run.stdout) == (1, "")
    assert "followed by a reference" in sentence(shell("--rule").stderr)


def test_ctrl_c_ends_with_the_best_solution(golden_dir, tmp_path):
    # With this rule the model takes minutes.
    instance, solution = golden_dir / "setcover_0.mps.gz", tmp_path / "best.sol"
    words = ["--rule", "largest_degree", "-c", f"read {instance}", "-c", "optimize"]
    words = [*SHELL, *words, "-c", f"write solution {solution}", "-c", "quit"]
    process = subprocess.Popen(words, env=environment(tmp_path), stdout=subprocess.PIPE, text=True)
    next(line for line in process.stdout if "|" in line)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 0
    assert "solving was interrupted [user interrupt]" in output
    assert solution.read_text().startswith("solution status: user interrupt\nobjective value:")


def test_nothing_slow_is_imported_that_is_not_needed(instance, knapsacks, tmp_path):
    code = f"import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {SHELL[2]}"
    slow = {"pydantic", "typer", "sqlalchemy", "numba", "pandas", "optuna", "mlflow", "prefect"}

    def imported(*words, home):
        return slow.intersection(python("-c", code, *words, "-f", instance, home=home).stderr.split())

    (tmp_path / "none").mkdir()  # as a command without a registry leaves it
    assert imported(home=tmp_path / "none") == set()
    assert imported("--rule", "pseudocost_product", home=tmp_path / "none") == {"pydantic"}
    likeness = likeness_of([each.path for each in knapsacks]).model_dump_json()
    champion_in(LocalRegistry(Store(tmp_path)), "bife-knapsacks", 0, likeness=likeness)
    assert imported(home=tmp_path) == {"pydantic"}
    assert imported("--rule", "models:/bife-knapsacks@champion", home=tmp_path) == {"pydantic"}
