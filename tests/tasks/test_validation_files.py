"""What lies beside a rule, its search and how it was chosen, and what does not count as such."""

import json

import pytest

from bife_core.evaluation.choosing import Choice
from bife_core.evaluation.summary import EvaluationSummary
from bife_core.study import files
from tasks.evaluation_files import (
    RECORD,
    VALIDATION,
    as_first_measured,
    read_validation,
    search_behind,
    write_validation,
)
from tests.support.journals import BEST


def test_a_choice_is_found_again_by_the_rule_that_was_chosen_and_by_no_other(tmp_path):
    row = {"rule": "g01-c00", "instance": "a", "seed": 0, "status": "optimal", "cpu_s": 1.0, "nodes": 3}
    choice = Choice(chosen="g01-c00", scores={"g01-c00": -1.0, "g00-c01": None}, instances=1, solves=(row,))
    assert read_validation(str(tmp_path / "g01-c00.py")) is None
    write_validation(tmp_path, choice)
    assert read_validation(str(tmp_path / "g01-c00.py")) == choice
    assert read_validation(str(tmp_path / "g00-c01.py")) is None
    assert read_validation("models:/bife-x@champion") is None


def test_a_damaged_record_of_an_evaluation_is_in_nobodys_way(tmp_path):
    summary = EvaluationSummary.model_construct(rows=())
    (tmp_path / RECORD).write_text('{"measured_at": "2026-')
    assert as_first_measured(tmp_path, summary) is summary


@pytest.mark.parametrize("content", ["", '{"chosen": "mi', "[]", '{"of": "somebody else"}'])
def test_a_choice_that_is_damaged_or_of_somebody_else_is_none(tmp_path, content):
    (tmp_path / VALIDATION).write_text(content)
    assert read_validation(str(tmp_path / "mine.py")) is None


@pytest.mark.parametrize(
    "content", ['{"samples": [1]}', "[1, 2]", '[{"id": "a"}]', '[{"id": "g0', "[]", "\x00"]
)
def test_samples_of_somebody_else_beside_a_rule_are_no_search(tmp_path, content):
    (tmp_path / files.SAMPLES).write_text(content)
    assert search_behind(str(tmp_path / "mine.py")) is None


def test_a_search_with_a_damaged_cost_is_told_of_without_it(tmp_path):
    files.write_search(tmp_path, [BEST])
    (tmp_path / files.COST).write_text('{"search": "bi')
    found = search_behind(str(tmp_path / f"{BEST.id}.py"))
    assert (found.best, found.samples, found.cost) == (BEST.id, (BEST,), None)
    (tmp_path / files.SAMPLES).write_text(json.dumps([{"id": 7}]))
    assert search_behind(str(tmp_path / f"{BEST.id}.py")) is None
