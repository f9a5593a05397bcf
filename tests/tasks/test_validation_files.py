"""How a final rule was chosen, from the folder of its search to the run of its evaluation."""

from bife_core.evaluation.choosing import Choice
from bife_core.evaluation.summary import EvaluationSummary
from tasks.evaluation_files import RECORD, as_first_measured, read_validation, write_validation


def test_a_choice_is_found_again_by_the_rule_that_was_chosen_and_by_no_other(tmp_path):
    row = {"rule": "g01-c00", "instance": "a", "seed": 0, "status": "optimal", "cpu_s": 1.0, "nodes": 3}
    choice = Choice(
        chosen="g01-c00", scores={"g01-c00": -1.0, "g00-c01": None}, instances=1, seeds=1, solves=(row,)
    )
    assert read_validation(str(tmp_path / "g01-c00.py")) is None
    write_validation(tmp_path, choice)
    assert read_validation(str(tmp_path / "g01-c00.py")) == choice
    assert read_validation(str(tmp_path / "g00-c01.py")) is None
    assert read_validation("models:/bife-x@champion") is None


def test_a_damaged_record_of_an_evaluation_is_in_nobodys_way(tmp_path):
    summary = EvaluationSummary.model_construct(rows=())
    (tmp_path / RECORD).write_text('{"measured_at": "2026-')
    assert as_first_measured(tmp_path, summary) is summary
