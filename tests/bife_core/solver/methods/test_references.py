"""From a reference to a rule or method."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pyscipopt
import pytest

from bife_core.base.errors import RuleError
from bife_core.language.components import BRANCHING
from bife_core.language.rules import REFERENCE_RULES, compile_rule
from bife_core.solver.export import export_c
from bife_core.solver.methods.attach import attach, solve
from bife_core.solver.methods.base import METHODS
from bife_core.solver.methods.references import load_method, load_rule
from tests.support.programs import python
from tests.support.weighted import KIND, Weighted

SOURCE = "def candidate_variable_score(f):\n    return f[20] * 2.0\n"


def test_a_file_by_its_path_and_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mine.py", "odd", "pseudocost_product"):
        Path(name).write_text(SOURCE)
    for reference in (tmp_path / "mine.py", str(tmp_path / "mine.py"), "mine.py"):
        rule = load_rule(reference)
        assert rule.name == "mine"
        assert rule.score(np.ones((2, BRANCHING.n_features))).tolist() == [2.0, 2.0]
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
        (17, "17 is no method to branch by"),
        (compile_rule("import os"), "not os"),
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


@pytest.mark.parametrize(
    ("name", "make", "words"),
    [
        ("pipe.py", os.mkfifo, "is no regular file"),
        ("large.py", lambda file: (file.touch(), os.truncate(file, 2**30)), "has 1,073,741,824 bytes, and no method"),
        ("binary.py", lambda file: file.write_bytes(b"\x00\xff\x00\x01"), "save it as UTF-8"),
        ("utf16.py", lambda file: file.write_text(SOURCE, encoding="utf-16"), "save it as UTF-8"),
        ("deep.json", lambda file: file.write_text('{"a":' * 100_000), "deep is no JSON file of a method"),
        ("bad.py", lambda file: file.write_text(f"import os\n{SOURCE}"), "bad.py is not a usable rule: Line 1: "),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_rule_is_refused_in_one_sentence_and_never_waited_for(
    tmp_path, name, make, words
):
    make(tmp_path / name)
    with pytest.raises(RuleError) as caught:
        load_rule(tmp_path / name)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_path_may_have_a_byte_order_mark_spaces_and_a_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "my rule.py").write_bytes(b"\xef\xbb\xbf" + SOURCE.replace("\n", "\r\n").encode())
    assert load_rule("~/my rule.py").source == SOURCE


@pytest.mark.parametrize("load", [load_rule, export_c])
def test_a_method_without_source_is_called_what_it_is(load, tmp_path, monkeypatch):
    monkeypatch.setitem(METHODS, KIND, Weighted)
    file = tmp_path / "net.json"
    file.write_text(json.dumps({"kind": KIND, "weights": {}}))
    with pytest.raises(RuleError, match=r"net is no rule but a method of the kind 'weighted'.*load_method"):
        load(str(file))


def test_attach_and_solve_take_what_load_method_takes(knapsacks):
    def most_fractional(f):
        return min(f[24], 1.0 - f[24])

    rules = ("paper_ca", load_rule("paper_ca"), load_method("paper_ca"), most_fractional)
    for reference in (*rules, "pscost", load_method("pscost")):
        assert attach(pyscipopt.Model(), reference).calls == 0
        assert solve(knapsacks[0].path, reference, node_limit=2).method == load_method(reference).name


def test_without_mlflow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    with pytest.raises(RuleError, match=r"pip install 'bife-branching\[operate\]'"):
        load_rule("models:/bife-x@champion")


def test_a_users_own_package_called_tasks_is_left_alone(tmp_path):
    (tmp_path / "tasks.py").write_text("raise SystemExit('imported')")
    program = (
        "import os, sys, bife_core\n"
        "try: bife_core.load_rule('models:/bife-x@champion')\n"
        "except bife_core.BifeError as error: print(error)\n"
        "print([os.environ.get('MLFLOW_TRACKING_URI'), 'prefect' in sys.modules])\n"
    )
    done = python("-c", program, home=tmp_path / "home", cwd=tmp_path, MLFLOW_TRACKING_URI="")
    assert "holds no models:/bife-x@champion" in done.stdout, done.stderr
    assert "['', False]" in done.stdout, "neither is the environment changed nor Prefect loaded"
