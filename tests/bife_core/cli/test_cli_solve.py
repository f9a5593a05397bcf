import gzip
import json
import re
import shutil
import signal
import subprocess
import time

import pytest

from bife_core.base.errors import RuleError
from bife_core.cli.consoles import number
from bife_core.cli.outcome import CommandEnd, ExitCode
from bife_core.cli.solve import _show, conclude
from bife_core.language.rules import REFERENCE_RULES
from bife_core.registry.local import LocalRegistry
from bife_core.run.stages.runtime import Runtime
from bife_core.run.stages.watch import ChampionWatch
from bife_core.solver.methods.attach import solve as solve_here
from bife_core.solver.methods.base import METHODS
from bife_core.solver.methods.references import load_method
from bife_core.solver.methods.scorer import Scorer
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.settings import SolverConfig
from bife_core.store.home import project_home
from tests.support.measured import result
from tests.support.programs import FOREIGN, PROGRAM, environment, program, sentence
from tests.support.registered import champion_in, under
from tests.support.weighted import KIND, Weighted

LSEU = FOREIGN / "lseu.mps"
UNBOUNDED = "Maximize\n obj: x + y\nSubject To\n c: x - y <= 1\nGenerals\n x y\nEnd\n"


@pytest.fixture
def solve(bife, knapsacks):
    """Solve quietly, by default a small instance with the paper's rule."""

    def call(*options, model=knapsacks[0].path, rule="paper_ca"):
        return bife("solve", model, "-q", *(("--rule", rule) if rule else ()), *options)

    return call


@pytest.fixture(scope="module")
def best(knapsacks):
    """The optimum of that instance, as it is shown."""
    return number(solve_here(knapsacks[0].path).primal_bound, 10)


def row(output, label):
    """Return the cells of a row of the table of results."""
    found = re.search(rf"^{label}  +(.*)$", output, re.MULTILINE)
    assert found, output
    return found[1].split()


def test_the_solution_is_written_as_scip_reads_it(solve, best, knapsacks, tmp_path):
    file = tmp_path / "a.sol"
    assert solve("--solution", file).exit_code == 0
    model = read_model(knapsacks[0].path)
    solution = model.readSolFile(str(file))
    assert model.checkSol(solution)
    assert model.getSolObjVal(solution) == pytest.approx(float(best))


@pytest.mark.parametrize(
    "text",
    [
        "Minimize\n obj: x\nSubject To\n a: x + y >= 3\nBounds\n x <= 1\n y <= 1\nGenerals\n x y\nEnd\n",
        "Maximize\n obj: x\nSubject To\n a: x - y <= 3\nGenerals\n x y\nEnd\n",  # unbounded
    ],
)
def test_no_file_is_left_where_no_best_solution_was_found(solve, tmp_path, text):
    model = tmp_path / "none.lp"
    (tmp_path / "none.sol").write_text("of an earlier solve")
    model.write_text(text)
    done = solve("--solution", tmp_path / "none.sol", model=model)
    assert f"{tmp_path / 'none.sol'} is not written" in " ".join(done.stdout.split())
    assert not (tmp_path / "none.sol").exists()


def test_the_former_solution_goes_where_a_link_leads(solve, tmp_path):
    (model := tmp_path / "none.lp").write_text(UNBOUNDED)
    (former := tmp_path / "former.sol").write_text("of an earlier solve")
    (link := tmp_path / "a.sol").symlink_to(former)
    solve("--solution", link, model=model)
    assert (former.exists(), link.is_symlink()) == (False, True)


@pytest.mark.parametrize("option", ["instance", "--rule", "--versus", "--solver"])
def test_no_solution_is_written_over_what_is_read(solve, tmp_path, option):
    model = shutil.copy(LSEU, tmp_path)
    (rule := tmp_path / "mine.py").write_text(REFERENCE_RULES["paper_ca"].source)
    (settings := tmp_path / "mine.set").write_text("limits/nodes = 1\n")
    file = {"instance": model, "--solver": settings}.get(option, rule)
    (link := tmp_path / "a.sol").hardlink_to(file)
    before = link.read_bytes()
    options = () if option == "instance" else (option, file)
    done = solve("--solution", link, *options, model=model, rule=None if option == "--rule" else "paper_ca")
    assert "a.sol is read and would be written over" in sentence(done.stderr)
    assert (done.exit_code, done.stdout, link.read_bytes()) == (1, "", before)


def test_where_no_solution_can_be_written_is_said_before_the_solve(solve, tmp_path):
    done = solve("--solution", tmp_path)
    assert f"{tmp_path}: Is a directory." in " ".join(done.stderr.split())
    assert "SCIP Status" not in done.stdout


def test_another_method_is_compared_with_its_log_hidden():
    done = program("solve", LSEU, "--rule", "paper_ca", "--versus", "relpscost")
    assert "presolving" in done.stdout.partition("SCIP Status")[0]
    assert (done.returncode, done.stderr, "\x1b" in done.stdout) == (0, "", False)
    assert done.stdout.count("SCIP Status") == 1
    assert row(done.stdout, "objective") == ["1120", "1120"]
    nodes = row(done.stdout, "nodes")
    assert float(nodes[2]) == pytest.approx(int(nodes[0]) / int(nodes[1]), rel=1e-3)
    assert "RPB (relpscost)" in done.stdout


def test_quiet_prints_the_result_alone(solve, best, capfd):
    done = solve("--seed", 1, "--solver", "default", rule="pseudocost_product")
    assert (capfd.readouterr().out, row(done.stdout, "objective")) == ("", [best])


def test_a_rule_measured_under_other_settings_is_said_to_be(solve):
    champion_in(LocalRegistry(project_home().store), "bife-test", 0, **under(SolverConfig(name="paper")))
    given = {"rule": "models:/bife-test@champion"}
    note = "note: models:/bife-test@champion was measured under paper settings, not under SCIP default"
    few = ("--set-param", "limits/nodes=1")
    assert note in " ".join(solve(*few, **given).stdout.split())
    assert "note:" not in solve(*few, "--solver", "paper", **given).stdout


def test_a_scorer_is_read_from_a_file_of_weights(solve, best, tmp_path, monkeypatch):
    monkeypatch.setitem(METHODS, KIND, Weighted)
    weights, same = tmp_path / "weights.json", "pseudocost_product"
    weights.write_text(json.dumps({"kind": KIND, "weights": {same: 1.0}}))
    result = solve("--versus", same, rule=weights)
    assert result.exit_code == 0
    assert row(result.stdout, "objective") == [best] * 2
    assert int(row(result.stdout, "branchings")[0]) > 0
    weights.write_text(json.dumps({"kind": "oracle"}))
    kinds = r"weights is no method: 'kind' must be one of scip, rule, configuration, (\w+, )*weighted\."
    assert re.search(kinds, " ".join(solve(rule=weights).stderr.split()))


def test_a_gzipped_model_and_a_rule_in_a_file(solve, best, knapsacks, tmp_path):
    model, rule = knapsacks[0].path, tmp_path / "mine.py"
    assert model.suffixes[-2:] == [".mps", ".gz"]
    rule.write_text("def candidate_variable_score(f):\n    return f[18] * (f[20] + f[21])\n")
    result = solve("--versus", "pseudocost_min", model=model, rule=rule)
    assert result.exit_code == 0
    assert row(result.stdout, "objective") == [best] * 2
    assert "mine" in result.stdout


def test_a_rule_without_a_finite_score_is_guarded(solve, tmp_path):
    rule = tmp_path / "infinite.py"
    rule.write_text("import math\ndef candidate_variable_score(f):\n    return math.inf\n")
    result = solve("--versus", "relpscost", rule=rule)
    assert row(result.stdout, "nodes")[2] == "1.000"
    assert row(result.stdout, "fallbacks")[0] == row(result.stdout, "branchings")[0]


def test_how_a_solve_ends_is_its_exit_code(solve, tmp_path):
    (unbounded := tmp_path / "open.lp").write_text(UNBOUNDED)
    # The last has no integer variables, and SCIP branches on it.
    infeasible, unlike = FOREIGN / "stein27_inf.lp", FOREIGN / "semicon1.mps"
    for model, options, code, text in (
        (infeasible, ("--versus", "relpscost"), ExitCode.NO_OPTIMUM, "stein27_inf.lp is infeasible"),
        (unbounded, (), ExitCode.NO_OPTIMUM, "open.lp is unbounded"),
        (LSEU, ("--set-param", "limits/nodes=5"), ExitCode.LIMIT, "stopped at a limit (nodelimit)"),
    ):
        ended = solve(*options, model=model)
        assert (ended.exit_code, text in sentence(ended.stderr)) == (code, True)
    assert f"dual bound {row(ended.stdout, 'dual bound')[0]}." in ended.stderr
    gap = solve("--set-param", "limits/gap=0.5")
    assert (gap.exit_code, gap.stderr, row(gap.stdout, "status")) == (ExitCode.OK, "", ["gaplimit"])
    spatial = solve(model=unlike)
    assert spatial.exit_code == 0
    assert (row(spatial.stdout, "branchings"), row(spatial.stdout, "objective")) == (["0"], ["1.1"])


def test_models_that_cannot_be_solved_are_one_sentence(solve, tmp_path):
    cut, broken = tmp_path / "cut.mps", tmp_path / "broken.mps.gz"
    cut.write_bytes(LSEU.read_bytes()[:3000])
    broken.write_bytes(gzip.compress(LSEU.read_bytes())[:500])
    texts = {tmp_path / "absent.mps": "There is no file", tmp_path: "is no instance file"}
    for model, text in (texts | dict.fromkeys((cut, broken), "is cut off")).items():
        result = solve(model=model)
        assert (result.exit_code, result.stdout) == (1, "")
        assert text in sentence(result.stderr)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--rule", "papr_ca"), "There is no rule 'papr_ca'"),
        (("--versus", "relpcost"), "There is no rule 'relpcost'"),
        (("--rule", "models:/bife-nothing@champion"), "holds no models:/bife-nothing@champion"),
        (("--time-limit", "0"), "time_limit_s"),
        (("--solver", "some"), "A solver is 'default', 'paper'"),
        (("--set-param", "limits/bodes=5"), "limits/bodes"),
        (("--set-param", "limits/nodes=few"), "limits/nodes"),
    ],
)
def test_options_that_cannot_be_used_are_one_sentence(solve, arguments, text):
    result = solve(*arguments)
    assert result.exit_code == 1
    assert text in sentence(result.stderr)


@pytest.mark.parametrize("arguments", [("--rule",), ("--set-param", "limits/nodes"), ("x",)])
def test_incomplete_command_lines_are_usage_errors(solve, arguments):
    assert solve(*arguments).exit_code == ExitCode.USAGE


def solved(method, status, objective, violation=None):
    bounds = {"primal_bound": objective, "dual_bound": objective}
    return result(method=method, status=status, violation=violation, **bounds)


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        (("optimal", 10.0), ("optimal", 10.0 + 1e-7), None),
        (("optimal", 10.0), ("timelimit", 11.0), None),
        (("optimal", 10.0), ("optimal", 11.0), ExitCode.DISAGREEMENT),
        (("optimal", 10.0), ("infeasible", None), ExitCode.DISAGREEMENT),
        (("infeasible", None), ("infeasible", None), ExitCode.NO_OPTIMUM),
        (("timelimit", 10.0), ("optimal", 10.0), ExitCode.LIMIT),
        (("timelimit", None), ("optimal", 10.0), ExitCode.LIMIT),
        (("gaplimit", 10.0), ("optimal", 9.0), None),
        (("optimal", 10.0, "r by 3"), ("optimal", 11.0), ExitCode.LIMIT),
        (("optimal", 10.0), ("optimal", 9.0, "r by 3"), None),
        (("timelimit", 10.0, "r by 3"), ("optimal", 11.0), ExitCode.LIMIT),
    ],
)
def test_the_exit_code_follows_from_what_was_proven(first, second, code, capsys):
    results = [solved("rule", *first), solved("relpscost", *second)]
    if code is None:
        assert conclude("m", results) is None
        return
    with pytest.raises(CommandEnd) as end:
        conclude("m", results)
    assert end.value.code == code
    assert ("note: a: the best solution misses r by 3" in capsys.readouterr().out) == ("r by 3" in first)


def test_ctrl_c_ends_a_solve_with_its_standing(golden_dir):
    # With this rule the model takes minutes.
    command = [*PROGRAM, "solve", str(golden_dir / "setcover_0.mps.gz"), "--rule", "largest_degree"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env=environment(), **pipes)
    next(line for line in process.stdout if "|" in line)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert "Interrupted after" in sentence(errors)
    assert "under largest_degree; " in sentence(errors)


class Refused(Scorer):
    kind: str = "refused"
    name: str = "refused"

    def attach(self, model, guard=False):
        raise RuleError("It cannot be used.")

    def score(self, X):
        return X[:, 24]


def test_a_second_solve_that_fails_leaves_the_result_of_the_first(solve, best, monkeypatch):
    monkeypatch.setitem(METHODS, "refused", Refused)
    result = solve("--versus", "refused")
    assert result.exit_code == ExitCode.ERROR
    assert "It cannot be used." in sentence(result.stderr)
    assert row(result.stdout, "objective") == [best]


def test_without_a_rule_the_registry_is_asked_for_one(solve):
    result = solve("--versus", "relpscost", rule=None)
    assert result.exit_code == 0
    assert " ".join(result.stdout.split()).startswith("relpscost branches. ")
    assert "RPB (relpscost) is what it would be compared with: it is solved once." in result.stdout
    assert len(row(result.stdout, "nodes")) == 1


def test_a_budget_has_a_row_of_its_own(solve, best):
    result = solve("--versus", "relpscost", rule="general,budget=0.6,once")
    assert row(result.stdout, "objective") == [best] * 2
    within, other = row(result.stdout, "within budget")
    assert (int(within) > 0, other) == (True, "-")
    assert "within budget" not in solve("--set-param", "limits/nodes=5", rule="general").stdout


def test_recorded_solves_are_kept_for_the_watch_over_the_rule(solve, monkeypatch, tmp_path):
    monkeypatch.setenv("BIFE_STORE", str(tmp_path))
    done = solve("--versus", "relpscost", "--record")
    assert done.exit_code == 0
    kept = ChampionWatch(load_method("paper_ca"), SolverConfig(), Runtime()).comparison("nodes", 60.0)
    nodes = row(done.stdout, "nodes")
    assert (kept.instances, round(1 / kept.ratio, 3)) == (1, round(int(nodes[0]) / int(nodes[1]), 3))
    again = solve("--versus", "relpscost", "--record").stdout
    assert "Nothing is recorded, for the instance has served before" in again
    assert "for no rule branched" in solve("--record", rule="pscost").stdout


@pytest.mark.parametrize(("cpu_s", "ratio"), [((0.002, 0.009), "-"), ((0.002, 0.02), "0.100")])
def test_seconds_within_a_tick_of_scips_clock_have_no_ratio(capsys, cpu_s, ratio):
    _show([], [result(cpu_s=one) for one in cpu_s])
    shown = capsys.readouterr().out
    assert [row(shown, name)[-1] for name in ("nodes", "CPU s")] == ["1.000", ratio]


def test_a_configuration_with_a_start_says_what_became_of_it_and_what_an_export_lacks(
    solve, bife, best, tmp_path
):
    (file := tmp_path / "ours.json").write_text('{"kind": "configuration", "start": "local_search"}')
    shown = " ".join(solve(rule=file).stdout.split())
    assert f"objective {best}" in shown
    assert "note: The start method local_search took 0." in shown
    assert "CPU seconds; SCIP got 1 start, the best with an objective of " in shown
    exported = " ".join(bife("export", file, "--output", tmp_path / "ours.c").stdout.split())
    assert "note: It lacks its start, which bife solve MODEL --rule " in exported
