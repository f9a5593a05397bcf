"""The corpus as far as it is quick: every static rejection, and a sample of what runs."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from bife_core.language.rules import check_source
from bife_core.language.rules.types import Rejection
from tests.hostile.__main__ import fight
from tests.hostile.arena import Arena
from tests.hostile.corpus import RULES, outcome_of, read_corpus

CASES = {case.name: case for case in read_corpus(RULES)}
SAMPLE = (
    "always_nan", "as_long_as_can_be", "good_with_everything", "int_of_nan", "most_negative_by_minus_one",
    "shadowed_by_generated_code", "solve_nan_on_integers",
)  # fmt: skip


def test_every_static_rejection_is_one_sentence_of_the_expected_kind():
    wrong, rejected = [], 0
    for case in CASES.values():
        answer = check_source(case.text)
        if not isinstance(answer, Rejection):
            continue
        rejected += 1
        sentence = re.fullmatch(r"[A-Z][^\n]{5,350}\.", answer.reason)
        if not case.accepts(outcome_of(answer.kind)) or sentence is None:
            wrong.append(f"{case.name}: {answer}")
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


@pytest.mark.long  # `make hostile` is that program
def test_another_corpus_is_run(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "unmarked.txt").write_text("import os\n")
    (tmp_path / "deep" / "wrong.py").write_text("# expect: scored\n# repeat: 3\nimport os\n")
    summary = fight(read_corpus(tmp_path), limit_s=20.0)
    assert summary["rules"] == sum(summary["outcomes"].values()) == 2
    assert summary["escapes"] == summary["honest_disturbed"] == 0
    assert summary["honest"] > 0
    (failed,) = summary["failed"]
    assert failed.startswith("wrong: rejected/")
