"""What would stop a stage late is found before anything is spent."""

from pathlib import Path

import pytest

from tests.support.programs import FOREIGN, sentence


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--instances", "EMPTY"), "holds no instance"),
        (("--instances", "no-such-folder"), f"no-such-folder is no folder in {Path.cwd()}, and no family"),
        (("--instances", FOREIGN / "lseu.mps"), "lseu.mps is no folder, and no family"),
        (
            ("--instances", "knapsack"),
            f"knapsack is no folder in {Path.cwd()}, and no family; families are set_covering,",
        ),
        (("--size", "huge"), "has no size 'huge'"),
        (("--generator", "openai"), "The model API is not configured"),
        (("--generator", "replay"), "replay_from"),
        (("--set", "evaluation.baseline=relpcost"), "There is no rule 'relpcost'"),
    ],
)
def test_a_run_is_refused_before_it_begins(bife, tmp_path, monkeypatch, arguments, text):
    for name in ("BIFE_LLM_BASE_URL", "OPENAI_BASE_URL", "BIFE_LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    result = bife("run", *(tmp_path if argument == "EMPTY" else argument for argument in arguments))
    assert result.exit_code == 1
    assert text in sentence(result.stderr)
    assert "collection:" not in result.stdout


def test_a_report_of_nothing_is_one_sentence(bife, tmp_path):
    missing = bife("report", tmp_path)
    assert missing.exit_code == 1
    assert "evaluation.json is missing" in sentence(missing.stderr)
