"""From a reference to a rule or method."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyscipopt
import pytest

from bife_core.base.errors import RuleError
from bife_core.export import export_c
from bife_core.language.components import BRANCHING
from bife_core.language.rules import REFERENCE_RULES
from bife_core.solver.methods.base import METHODS
from bife_core.solver.methods.loading import budgeted, load_method, load_rule
from bife_core.solver.methods.using import attach, solve
from tests.support.programs import REPOSITORY
from tests.support.weighted import KIND, Weighted

SOURCE = "def candidate_variable_score(f):\n    return f[20] * 2.0\n"


@pytest.mark.parametrize("as_type", [str, Path])
def test_by_file(tmp_path, as_type):
    file = tmp_path / "my_rule.py"
    file.write_text(SOURCE)
    rule = load_rule(as_type(file))
    assert rule.name == "my_rule"
    assert rule.score(np.ones((2, BRANCHING.n_features))).tolist() == [2.0, 2.0]


def test_a_file_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(SOURCE)
    Path("odd").write_text(SOURCE)
    Path("pseudocost_product").write_text(SOURCE)
    assert load_rule("mine.py").name == "mine"
    assert load_rule("odd").name == "odd"
    assert load_rule("pseudocost_product").source == REFERENCE_RULES["pseudocost_product"].source
    assert load_rule("./pseudocost_product").source == SOURCE


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("pseudocost_produkt", "did you mean pseudocost_product"),
        ("zzzzzz", "registered names are"),
        ("missing.py", "There is no file missing.py"),
        ("some/where", "There is no file"),
        (Path("missing"), "There is no file"),
        (17, "17 is no method"),
        ("", "There is no rule ''"),
        ("def candidate_variable_score(v):\n    return v[18]\n", "compile it with bife_core.compile_rule"),
        ("a\0b.py", "no file can be called so"),
        ("https://example.org/rule.py", "is a web address; download the file"),
        ("models:/", "'models:/' names no method"),
        ("models:/x@champion\n", "the name of a rule or a file was expected"),
        ("/dev/zero", "is no regular file"),
        ("/proc/kmsg", "The source is empty"),  # reading it waits for ever
        (".", ". is no regular file"),
    ],
)
def test_what_is_not_there_is_one_clear_sentence(ref, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuleError) as caught:
        load_rule(ref)
    assert words.lower() in str(caught.value).lower()
    assert "\n" not in str(caught.value)


def test_a_file_that_holds_no_text_is_refused_in_one_sentence_and_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    with (tmp_path / "large.py").open("wb") as file:
        file.truncate(2**30)  # sparse: no bytes on disk
    (tmp_path / "binary.py").write_bytes(b"\x00\xff\x00\x01")
    (tmp_path / "utf16.py").write_bytes(SOURCE.encode("utf-16"))
    (tmp_path / "deep.json").write_text('{"a":' * 100_000)
    said = {
        "pipe.py": "is no regular file",
        "large.py": "has 1,073,741,824 bytes, and no method has more than",
        "binary.py": "save it as UTF-8",
        "utf16.py": "save it as UTF-8",
        "deep.json": "deep is no JSON file of a method",
    }
    for name, words in said.items():
        with pytest.raises(RuleError) as caught:
            load_rule(tmp_path / name)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_path_may_have_a_byte_order_mark_spaces_and_a_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "my rule.py").write_bytes(b"\xef\xbb\xbf" + SOURCE.replace("\n", "\r\n").encode())
    assert load_rule("~/my rule.py").source == SOURCE


def test_a_refused_rule_says_why(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("import os\n" + SOURCE)
    with pytest.raises(RuleError, match=r"bad\.py is not a usable rule: Line 1: .* not os\."):
        load_rule(file)


@pytest.mark.parametrize("load", [load_rule, export_c])
def test_a_method_without_source_is_called_what_it_is(load, tmp_path, monkeypatch):
    monkeypatch.setitem(METHODS, KIND, Weighted)
    file = tmp_path / "net.json"
    file.write_text(json.dumps({"kind": KIND, "weights": {}}))
    with pytest.raises(RuleError, match=r"net is no rule but a method of the kind 'weighted'.*load_method"):
        load(str(file))


def most_fractional(f):
    return min(f[24], 1.0 - f[24])


@pytest.mark.parametrize(
    "reference",
    [
        "paper_ca",
        load_rule("paper_ca"),
        load_method("paper_ca"),
        most_fractional,
        "pscost",
        load_method("pscost"),
    ],
    ids=["name", "compiled", "method", "function", "scip", "scip method"],
)
def test_attach_and_solve_take_what_load_method_takes(reference, knapsacks):
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(knapsacks[0].path))
    method = load_method(reference)
    assert attach(model, reference).calls == 0
    assert solve(knapsacks[0].path, reference, node_limit=2).method == method.name


def test_what_takes_no_budget_has_no_rules_with_one():
    assert [method.name for method in budgeted(load_method("general"), (0.5, 0.7))] == [
        "general,budget=0.5",
        "general,budget=0.7",
    ]
    assert budgeted(load_method("relpscost"), (0.5,)) == []


def test_without_mlflow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    with pytest.raises(RuleError, match=r"pip install 'bife-branching\[operate\]'"):
        load_rule("models:/bife-x@champion")


def test_a_users_own_package_called_tasks_is_left_alone(tmp_path):
    (tmp_path / "tasks.py").write_text("raise SystemExit('imported')")
    program = (
        "import bife_core\n"
        "try: bife_core.load_rule('models:/bife-x@champion')\n"
        "except bife_core.BifeError as error: print(error)\n"
    )
    places = {"PYTHONPATH": str(REPOSITORY), "BIFE_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=os.environ | places | {"MLFLOW_TRACKING_URI": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "holds no models:/bife-x@champion" in done.stdout, done.stderr
