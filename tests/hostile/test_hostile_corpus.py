"""The corpus as far as it is quick: every static rejection, and a sample of what runs."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from bife_core.rules import check_source
from bife_core.rules.types import Rejection
from tests.hostile.__main__ import complaint, fight
from tests.hostile.arena import Arena, Conclusion
from tests.hostile.corpus import RULES, Case, outcome_of, read_case, read_corpus

CASES = {case.name: case for case in read_corpus(RULES)}
SAMPLE = (
    "always_nan",
    "as_long_as_can_be",
    "good_with_everything",
    "int_of_nan",
    "most_negative_by_minus_one",
    "shadowed_by_generated_code",
    "solve_nan_on_integers",
)


def text(case: Case) -> str:
    return case.source.decode("utf-8", "surrogateescape")


def test_every_static_rejection_is_one_sentence_of_the_expected_kind():
    wrong, rejected = [], 0
    for case in CASES.values():
        found = check_source(text(case))
        if not isinstance(found, Rejection):
            continue
        rejected += 1
        sentence = re.fullmatch(r"[A-Z][^\n]{5,350}\.", found.reason)
        if not case.accepts(outcome_of(found.kind)) or sentence is None:
            wrong.append(f"{case.name}: {found}")
    assert wrong == []
    assert rejected >= 150
    assert [case.name for case in CASES.values() if not case.expect] == []


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    with closing(Arena(tmp_path_factory.mktemp("arena"), limit_s=20.0)) as arena:
        yield arena


@pytest.mark.parametrize("name", SAMPLE)
def test_a_rule_that_runs_ends_as_expected(arena, name):
    conclusion = arena.face(CASES[name])
    assert conclusion.escapes == ()
    assert CASES[name].accepts(conclusion.outcome), conclusion
    assert conclusion.outcome == "scored" or conclusion.reason.endswith((".", ")"))
    assert not CASES[name].solve or conclusion.solve in CASES[name].solve, conclusion


def test_a_header_is_taken_off_and_enlarges_the_rule(tmp_path):
    path = tmp_path / "x.py"
    path.write_bytes(
        b"# about: x\r\n# expect: timeout | rejected\n# repeat: 3\n# a comment of the rule\nx = 1\n"
    )
    case = read_case(path)
    assert case.source == b"# a comment of the rule\nx = 1\nx = 1\nx = 1\n"
    assert case.accepts("timeout")
    assert case.accepts("rejected/type")
    assert not case.accepts("scored")
    path.write_bytes(b"# pad: 100\nx = 1\n")
    assert len(read_case(path).source) == 100


def test_what_is_wrong_with_a_conclusion_is_said():
    case = Case("x", b"", ("timeout",), ("solved",))
    good = Conclusion("x", "timeout", "", "Too slow.", -1.0, ())
    assert complaint(case, good) == ""
    for wrong in (
        Conclusion("x", "scored", "", "", -1.0, ()),
        Conclusion("x", "timeout", "", "", -1.0, ()),
        Conclusion("x", "timeout", "", "Too slow.", 2.5, ()),
        Conclusion("x", "timeout", "", "Too slow.", -1.0, ("a file was made",)),
        Conclusion("x", "timeout", "runtime", "Raised.", -1.0, ()),
    ):
        assert complaint(case, wrong).startswith("x: ")


@pytest.mark.long  # `make hostile` is that program
def test_another_corpus_is_run(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "unmarked.txt").write_text("import os\n")
    (tmp_path / "deep" / "wrong.py").write_text("# expect: scored\nimport os\n")
    summary = fight(read_corpus(tmp_path), limit_s=20.0)
    assert summary["rules"] == sum(summary["outcomes"].values()) == 2
    assert summary["escapes"] == summary["honest_disturbed"] == 0
    assert summary["honest"] > 0
    (failed,) = summary["failed"]
    assert failed.startswith("wrong: rejected/")
