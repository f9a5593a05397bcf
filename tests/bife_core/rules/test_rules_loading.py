"""From a reference to a rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bife_core.errors import BifeError, RuleError
from bife_core.export import export_c
from bife_core.features import N_FEATURES
from bife_core.rules import REFERENCE_RULES, RESOLVERS, CompiledRule, load_rule, rule_source

SOURCE = "def candidate_variable_score(f):\n    return f[20] * 2.0\n"


def test_by_reference_name():
    rule = load_rule("pseudocost_product")
    assert isinstance(rule, CompiledRule)
    assert rule.name == "pseudocost_product"


@pytest.mark.parametrize("as_type", [str, Path])
def test_by_file(tmp_path, as_type):
    file = tmp_path / "my_rule.py"
    file.write_text(SOURCE)
    rule = load_rule(as_type(file))
    assert rule.name == "my_rule"
    assert rule.score(np.ones((2, N_FEATURES))).tolist() == [2.0, 2.0]


def test_a_file_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(SOURCE)
    Path("odd").write_text(SOURCE)
    Path("pseudocost_product").write_text(SOURCE)
    assert load_rule("mine.py").name == "mine"
    assert load_rule("odd").name == "odd"
    assert load_rule("pseudocost_product").source == REFERENCE_RULES["pseudocost_product"].source
    assert load_rule("./pseudocost_product").source == SOURCE


def test_a_windows_or_utf8_file_loads(tmp_path):
    file = tmp_path / "rule.py"
    file.write_bytes(b"\xef\xbb\xbf# \xc3\xa4\r\n" + SOURCE.replace("\n", "\r\n").encode())
    assert load_rule(file).features == frozenset({20})


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("pseudocost_produkt", "did you mean pseudocost_product"),
        ("zzzzzz", "reference rules are"),
        ("missing.py", "There is no file missing.py"),
        ("some/where", "There is no file"),
        (Path("missing"), "There is no file"),
        ("nobody:knows/this", "There is no rule resolver 'nobody'"),
        ("", "There is no rule ''"),
    ],
)
def test_what_is_not_there_is_one_clear_sentence(ref, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuleError) as caught:
        load_rule(ref)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_directory_and_a_binary_file_are_no_rules(tmp_path):
    with pytest.raises(RuleError, match="cannot be read"):
        load_rule(tmp_path)
    binary = tmp_path / "x.py"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(RuleError, match="not UTF-8"):
        load_rule(binary)


def test_a_refused_rule_says_why(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("import os\n" + SOURCE)
    with pytest.raises(RuleError, match=r"bad\.py is not a usable rule: Line 1: .* not os\."):
        load_rule(file)


def test_a_registered_resolver_gets_the_whole_reference(monkeypatch):
    asked = []

    def resolver(ref: str) -> str:
        asked.append(ref)
        return SOURCE

    monkeypatch.setitem(RESOLVERS, "test-store", resolver)
    rule = load_rule("test-store:/shelf/rule@best")
    assert asked == ["test-store:/shelf/rule@best"]
    assert rule.score(np.ones((1, N_FEATURES))).tolist() == [2.0]
    assert rule_source("test-store:x") == ("test-store:x", SOURCE)


def test_a_resolvers_own_error_is_passed_on(monkeypatch):
    def resolver(ref: str) -> str:
        raise BifeError("The registry does not answer.")

    monkeypatch.setitem(RESOLVERS, "test-broken", resolver)
    with pytest.raises(RuleError, match="The registry does not answer"):
        load_rule("test-broken:x")


@pytest.mark.parametrize("load", [load_rule, export_c])
def test_a_method_without_source_is_called_what_it_is(load: Callable[[str], object], tmp_path: Path) -> None:
    file = tmp_path / "net.json"
    file.write_text('{"kind": "mlp", "layers": [{"weights": [[1.0]], "bias": [0.0]}]}')
    with pytest.raises(RuleError, match=r"net\.json is no rule but a method of the kind 'mlp'.*load_method"):
        load(str(file))
