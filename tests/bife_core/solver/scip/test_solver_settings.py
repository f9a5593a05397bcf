"""How SCIP is set up: as in the paper, as it comes, or by a user's settings file."""

import ctypes
from pathlib import Path

import pytest

from bife_core.base.errors import ConfigError
from bife_core.language.rules import compile_rule
from bife_core.measure.evaluation.metrics import solve_frame
from bife_core.run.config import PipelineConfig
from bife_core.run.presets import preset
from bife_core.solver.methods.attach import attach, solve
from bife_core.solver.scip.libscip import library, scip_address
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.settings import PAPER, SolverConfig, settings_in
from bife_core.solver.scip.solve import SolveSettings, apply, disagree, parameters
from tests.support.weighted import Weighted


@pytest.fixture
def set_file(tmp_path):
    path = tmp_path / "ours.set"
    path.write_text(
        "# tuned by us\nlimits/gap = 0.01\nlimits/time = 7\nheuristics/rens/freq = -1\n"
        "randomization/randomseedshift = 5\npresolving/maxrounds = -1\n"
    )
    return path


def test_a_file_counts_by_what_it_changes(set_file):
    solver = SolverConfig.model_validate(str(set_file))
    assert solver.name == "ours.set"
    limits, seed = {"limits/gap": 0.01, "limits/time": 7.0}, {"randomization/randomseedshift": 5}
    assert solver.params == {**limits, "heuristics/rens/freq": -1, **seed}
    assert solver.sentence == (
        "But for what a method sets, solves ran under the settings of ours.set: heuristics/rens/freq = -1, "
        "limits/gap = 0.01. "
        "Each solve had its own limits/time, randomization/randomseedshift, whatever the settings say."
    )
    set_file.unlink()
    again = SolverConfig.model_validate(solver.model_dump(mode="json"))
    assert again == solver, "the file is not needed again"


def test_limits_and_seeds_of_an_experiment_win_over_those_of_a_file(set_file):
    solver = SolverConfig.model_validate(set_file)
    params = parameters(SolveSettings(solver=solver, time_limit_s=3, seed=1, params={"limits/gap": 0.5}))
    assert (params["limits/time"], params["limits/gap"], params["heuristics/rens/freq"]) == (3, 0.5, -1)
    assert params["randomization/randomseedshift"] == 1
    assert "separating/maxrounds" not in params
    assert parameters(SolveSettings(solver=solver))["limits/time"] == 7


def test_a_time_limit_holds_where_a_file_stops_the_clocks(tmp_path):
    path = tmp_path / "clocks.set"
    path.write_text("timing/enabled = FALSE\n")
    solver = SolverConfig.model_validate(path)
    assert parameters(SolveSettings(solver=solver, time_limit_s=3))["timing/enabled"] is True
    assert solver.digest == SolverConfig().digest, "it is the default otherwise"
    assert "Each solve had its own timing/enabled" in solver.sentence


def test_a_gap_that_is_enough_is_named_and_wins_over_a_files(set_file):
    solver = SolverConfig(gap=0.005)
    until = "to a gap of 0.5 %. A solve costs what it took until then."
    assert solver.sentence == f"But for what a method sets, solves ran under SCIP default settings {until}"
    assert (SolverConfig().goal, solver.goal) == ("a proof", "a gap of 0.5 %")
    assert parameters(SolveSettings(solver=solver))["limits/gap"] == 0.005
    files = SolverConfig.model_validate(set_file).model_copy(update={"gap": 0.005})
    assert parameters(SolveSettings(solver=files, time_limit_s=3))["limits/gap"] == 0.005
    assert "the settings of ours.set to a gap of 0.5 %: heuristics" in files.sentence


def test_a_solve_to_a_gap_is_done_there_and_proves_nothing(knapsacks):
    configs = (SolverConfig(gap=gap) for gap in (0.0, 0.02))
    proof, enough = (solve(knapsacks[0].path, "most_fractional", solver=config) for config in configs)
    assert (proof.status, proof.finished, proof.proven) == ("optimal", True, True)
    assert (enough.status, enough.finished, enough.proven) == ("gaplimit", True, False)
    assert 0 < enough.gap <= 0.02
    assert enough.nodes < proof.nodes
    assert not disagree(enough, proof.model_copy(update={"primal_bound": 0.0}))
    frame = solve_frame([{**one.model_dump(), "digest": "d"} for one in (proof, enough)], 60.0)
    assert frame["solved"].tolist() == [True, True]
    assert frame["cpu_s"].tolist() == [proof.cpu_s, enough.cpu_s]


def test_scips_defaults_are_the_default_everywhere():
    default, paper = SolverConfig.model_validate("default"), SolverConfig.model_validate("paper")
    assert default == SolverConfig() == PipelineConfig().solver == SolveSettings().solver
    assert [preset(name).solver for name in ("smoke", "quick", "paper")] == [default, default, paper]
    assert not parameters(SolveSettings()).keys() & PAPER.keys()
    assert PAPER.items() <= parameters(SolveSettings(solver=paper)).items()
    assert (
        paper.sentence
        == "But for what a method sets, solves ran under paper settings, cuts at the root only and no restarts."
    )


def test_settings_are_told_apart_by_what_they_set_and_not_by_their_name(set_file, tmp_path):
    renamed = set_file.rename(tmp_path / "my nightly.set")
    ours = SolverConfig.model_validate(renamed)
    same = ours.model_copy(update={"name": "other.set", "params": ours.params | {"limits/time": 9.0}})
    assert same.digest == ours.digest, "a time limit and seeds are each solve's own"
    assert ours.label == f"my_nightly_{ours.digest[:6]}"
    assert ours.known_as == "the settings of my nightly.set"
    gap = SolverConfig(gap=0.01)
    assert (gap.label, gap.known_as) == (f"default_{gap.digest[:6]}", "SCIP default settings to a gap of 1 %")
    switched = SolverConfig(params={"separating/maxrounds": 5})
    assert switched.known_as == "SCIP default settings with separating/maxrounds = 5"
    assert len({one.digest for one in (SolverConfig(), SolverConfig(name="paper"), ours, gap, switched)}) == 5


def test_a_file_that_sets_what_the_paper_does_is_the_paper(tmp_path):
    file = tmp_path / "own.set"
    file.write_text("separating/maxrounds = 0\npresolving/maxrestarts = 0\n")
    own = SolverConfig.model_validate(file)
    assert (own.label, own.known_as) == ("paper", "paper settings")
    file.write_text("separating/maxrounds = -1\n")
    assert SolverConfig.model_validate(file).label == "default"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fast", "'default', 'paper' or a SCIP settings file"),
        ("absent.set", "'default', 'paper' or a SCIP settings file"),
        ("unknown.set", r"line 3: SCIP has no parameter limits/gapp; did you mean limits/gap\?"),
        ("range.set", r"SCIP does not take the settings in .*range\.set: .*<-3>.*<limits/gap>"),
        ("small.set", r"small\.set sets numerics/feastol = 1e-12, but the LP solver takes 1e-10"),
    ],
)
def test_what_is_no_solver_is_one_sentence(name, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("unknown.set").write_text("emphasis: easycip\n# limits/gapp = 1\nlimits/gapp = 0.1\n")
    Path("range.set").write_text("limits/nodes = 5\nlimits/gap = -3\n")
    Path("small.set").write_text("numerics/feastol = 1e-12\n")
    for given in (name, Path(name)):
        with pytest.raises(ConfigError, match=message):
            SolverConfig.model_validate(given)


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("limits/nodes = 3abc", "3"),
        ("separating/maxrounds = 1e3", "1"),
        ("limits/primal = nan", ""),
        ("limits/nodes = 5_0", "5"),
        ("limits/gap = 1e400", "1.7976931348623157e"),
        ("separating/maxcuts = 4294967296", "0"),
        ("separating/maxcuts = -4294967295 fix", "1"),
        ("limits/nodes = 9223372036854775808", "9223372036854775807"),
        ("branching/scorefunc = sq", "s"),
        ('heuristics/alns/rewardfilename = "a" # "b"', 'a" # "b'),
    ],
)
def test_what_scip_would_read_as_another_value_is_refused(line, read):
    shown = line.removesuffix(" fix").removesuffix(' # "b"')
    with pytest.raises(ConfigError, match=f"own.set, line 2: SCIP reads {shown} as {read}"):
        settings_in(f"# own\n{line}\n", "own.set")


def test_a_line_that_scip_would_read_as_several_is_refused():
    with pytest.raises(ConfigError, match=r"own\.set, line 2: SCIP reads more than 1022 bytes"):
        settings_in(f"# own\n# {1023 * ' '}limits/nodes = 3\n", "own.set")


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("limits/nodes = 7 fix # seven", {"limits/nodes": 7}),
        ("\tlimits/nodes\t=\t9223372036854775807\r", {"limits/nodes": 2**63 - 1}),
        ("limits/nodes = 7\nlimits/nodes = 8 fix\nlimits/nodes = 9#", {"limits/nodes": 9}),
        ('heuristics/alns/rewardfilename = "a#b c" fix', {"heuristics/alns/rewardfilename": "a#b c"}),
        ("branching/scorefunc = q#", {"branching/scorefunc": "q"}),
        ("separating/maxcuts = 3.0", {"separating/maxcuts": 3}),
        ("branching/relpscost/probingbounds = False", {"branching/relpscost/probingbounds": False}),
        ("limits/gap = +.5e-1", {"limits/gap": 0.05}),
        ("heuristics/undercover/maxcoversizeconss = 1.79769313486232e+308", {}),  # its default, as SCIP writes it
    ],
)  # fmt: skip
def test_what_scip_reads_as_it_is_written_is_taken(text, params):
    assert settings_in(text, "own.set") == params


def test_the_callback_and_python_walk_the_same_tree_through_restarts(golden_dir):
    """After a restart columns and rows are others: what is kept between branchings must be forgotten."""
    params = {"presolving/restartminred": 0.0, "separating/maxroundsroot": 3}
    settings = SolveSettings(solver="default", node_limit=4, params=params)
    native = compile_rule("def candidate_variable_score(f): return f[24]")
    walked = []
    for rule in (native, Weighted(name="slow", weights={"pseudocost_product": 1.0})):
        model = read_model(golden_dir / "cauctions_0.mps.gz")
        apply(settings, model)
        stats = attach(model, rule)
        model.optimize()
        runs = library().SCIPgetNRuns(ctypes.c_void_p(scip_address(model)))
        assert (runs > 1, stats.calls > 0, stats.fallbacks) == (True, True, 0)
        walked.append((runs, model.getNTotalNodes(), model.getNLPIterations(), stats.calls))
    assert walked[0] == walked[1]
