import shutil

import pytest
from typer.testing import CliRunner

from flows.cli import app
from tests.flows.cli.conftest import sentence


def test_a_rule_is_written_as_a_c_file_named_after_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["export", "paper_ca"])
    assert done.exit_code == 0, done.output
    assert "SCIPincludeBranchruleBife" in done.output
    text = (tmp_path / "paper_ca.c").read_text()
    assert "SCIPincludeBranchruleBife(" in text
    assert "paper_ca" in text


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler here")
def test_a_library_is_built_where_it_is_asked_for(program, tmp_path):
    done = program("export", "paper_ca", "--to", "so", "--output", str(tmp_path / "rule.so"))
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "rule.so").read_bytes().startswith(b"\x7fELF")


def test_what_cannot_be_done_is_said_in_a_sentence(program, tmp_path):
    unknown = program("export", "no_such_rule")
    assert unknown.returncode != 0
    assert "no_such_rule" in sentence(unknown.stderr)
    nowhere = program("export", "paper_ca", "--output", str(tmp_path / "none" / "rule.c"))
    assert nowhere.returncode == 2
    assert "There is no folder" in nowhere.stderr
    contradiction = program("export", "paper_ca", "--scip", str(tmp_path))
    assert contradiction.returncode == 2
    assert "--scip is for --to so" in contradiction.stderr
