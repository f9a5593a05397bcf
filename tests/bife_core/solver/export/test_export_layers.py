"""What `bife export` gives to layers that call another SCIP, or the same one by its command line."""

import json
import re
import subprocess

import pyscipopt
import pytest

from bench.export import compiler
from bife_core.solver.methods.attach import solve
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.libscip import library_file
from tests.support.programs import sentence

PARAMS = {
    "branching/scorefunc": "q",
    "conflict/enable": False,
    "constraints/nonlinear/checkvarlocks": "b",
    "heuristics/rens/maxnodes": 4000,
    "nlp/solver": "ipopt",
    "separating/maxrounds": 0,
    "separating/minefficacy": 0.001,
}


@pytest.fixture
def ours(tmp_path):
    whole = Configuration(params=PARAMS, branching=load_method("paper_ca"))
    (path := tmp_path / "ours.json").write_text(whole.text)
    return path


@pytest.mark.skipif(not compiler(), reason="there is no C compiler here")
def test_the_compiled_program_is_scip_with_the_rule_and_takes_the_nodes_of_a_solve(
    bife, ours, knapsacks, tmp_path
):
    done = bife("export", ours, "--output", tmp_path / "whole.c", "--compile")
    assert done.exit_code == 0, done.output
    assert f"Compiled {tmp_path / 'whole'}, SCIP's command line with what was found: " in done.output
    assert f" {library_file()} -Wl,-rpath,{library_file().parent} " in done.output
    for file in (tmp_path / "whole.c", tmp_path / "whole.set"):
        assert f"Wrote {file}.\n" in done.output
    assert done.output.count("How to use it: docs/how-to/other-languages.md.") == 1
    path = tmp_path / "model.lp"
    model = pyscipopt.Model()
    model.readProblem(str(knapsacks[0].path))
    model.writeProblem(str(path), verbose=False)
    commands = ["set branching bife maxshare 0", f"read {path}", "optimize", "display statistics", "quit"]
    command = [tmp_path / "whole", "-s", tmp_path / "whole.set"]
    command += [part for each in commands for part in ("-c", each)]
    log = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    result = solve(path, ours, guard=False)
    assert result.calls > 3
    assert re.search(r"bife +: +\S+ +\S+ +(\d+)", log)[1] == str(result.calls)
    assert re.search(r"nodes \(total\) +: +(\d+)", log)[1] == str(result.nodes)


def test_without_a_compiler_the_sources_are_written_and_a_sentence_says_what_lacks(
    bife, ours, tmp_path, monkeypatch
):
    monkeypatch.setenv("CC", "no-such-compiler -O3")
    done = bife("export", ours, "--output", tmp_path / "whole.c", "--compile")
    assert done.exit_code == 1
    lacks = "There is no C compiler 'no-such-compiler': install one, or name it in CC."
    assert lacks in sentence(done.stderr)
    assert (tmp_path / "whole.c").exists()
    assert not (tmp_path / "whole").exists()
    monkeypatch.setenv("CC", "false")
    assert " failed: " in bife("export", ours, "--output", tmp_path / "whole.c", "--compile").stderr


def test_parameters_are_written_with_real_types_that_pyscipopt_takes(bife, ours, tmp_path):
    done = bife("export", ours, "--output", tmp_path / "new.c", "--format", "dict")
    assert done.exit_code == 0, done.output
    params = json.loads((tmp_path / "new.dict.json").read_text())
    assert params == PARAMS
    assert [type(value) for value in params.values()] == [type(value) for value in PARAMS.values()]
    model = pyscipopt.Model()
    model.setParams(params)
    assert params.items() <= model.getParams().items()
    assert not (tmp_path / "new.c").exists()


def test_what_branches_is_among_the_parameters_if_it_is_one_of_scips_rules(bife, tmp_path):
    assert bife("export", "pscost", "--output", tmp_path / "a.c", "--format", "dict").exit_code == 0
    assert json.loads((tmp_path / "a.dict.json").read_text()) == {"branching/pscost/priority": 10_000_000}


def test_mathopt_gets_a_field_for_each_of_scips_types(bife, ours, tmp_path):
    assert bife("export", ours, "--output", tmp_path / "a.c", "--format", "mathopt").exit_code == 0
    assert json.loads((tmp_path / "a.mathopt.json").read_text()) == {
        "bool_params": {"conflict/enable": False},
        "int_params": {"separating/maxrounds": 0},
        "long_params": {"heuristics/rens/maxnodes": 4000},
        "real_params": {"separating/minefficacy": 0.001},
        "char_params": {"branching/scorefunc": "q", "constraints/nonlinear/checkvarlocks": "b"},
        "string_params": {"nlp/solver": "ipopt"},
    }


def test_ortools_gets_a_string_without_quotes_around_characters(bife, ours, tmp_path):
    assert bife("export", ours, "--output", tmp_path / "a.c", "--format", "ortools").exit_code == 0
    lines = (tmp_path / "a.ortools.txt").read_text().splitlines()
    assert lines[:2] == ["branching/scorefunc = q", "conflict/enable = FALSE"]
    assert {"constraints/nonlinear/checkvarlocks = b", 'nlp/solver = "ipopt"'} <= {*lines}


@pytest.mark.long
def test_ortools_takes_what_was_written_for_it(bife, ours, tmp_path):
    pywraplp = pytest.importorskip("ortools.linear_solver.pywraplp")
    from google.protobuf import json_format
    from ortools.math_opt.python import mathopt
    from ortools.math_opt.solvers.gscip import gscip_pb2

    for form in ("ortools", "mathopt"):
        assert bife("export", ours, "--output", tmp_path / "a.c", "--format", form).exit_code == 0
    solver = pywraplp.Solver.CreateSolver("SCIP")
    assert solver.SetSolverSpecificParametersAsString((tmp_path / "a.ortools.txt").read_text())
    fields = json.loads((tmp_path / "a.mathopt.json").read_text())
    model = mathopt.Model()
    x = model.add_integer_variable(lb=0, ub=3.5)
    model.maximize(2 * x)
    gscip = json_format.ParseDict(fields, gscip_pb2.GScipParameters())
    result = mathopt.solve(model, mathopt.SolverType.GSCIP, params=mathopt.SolveParameters(gscip=gscip))
    assert result.objective_value() == pytest.approx(6)


@pytest.mark.parametrize(
    ("reference", "options", "why"),
    [
        ("paper_ca", ("--format", "dict"), "a rule alone has none"),
        ("ours", ("--format", "dict", "--compile"), "--format writes parameters"),
        ("pscost", ("--compile",), "One of SCIP's rules branches, so any `scip -s FILE.set` does"),
    ],
)
def test_what_cannot_be_written_or_compiled_is_refused(bife, ours, tmp_path, reference, options, why):
    ref = ours if reference == "ours" else reference
    done = bife("export", ref, "--output", tmp_path / "a.c", *options)
    assert (done.exit_code, why in " ".join(done.stderr.split())) == (2, True)
    assert not list(tmp_path.glob("a.*"))
