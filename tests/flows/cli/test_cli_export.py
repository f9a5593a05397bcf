import shutil

import pytest
from typer.testing import CliRunner

from bife_core.rules import REFERENCE_RULES
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


@pytest.mark.parametrize("name", ["mine.py", "mine"])
def test_a_rule_is_never_written_over(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rule = tmp_path / name
    source = REFERENCE_RULES["paper_ca"].source
    rule.write_text(source)
    for target in ("c", "so"):
        done = CliRunner().invoke(app, ["export", str(rule), "--to", target, "--output", name])
        assert done.exit_code == 2
        assert name in done.stderr
    assert rule.read_text() == source


@pytest.mark.parametrize(
    ("reference", "file"),
    [
        ("models:/bife-x/3", "bife-x_3.c"),
        ("models:/bife-x@champion", "bife-x_champion.c"),
        ("mine.py", "mine.c"),
    ],
)
def test_a_file_is_named_after_all_that_names_the_rule(reference, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = REFERENCE_RULES["paper_ca"].source
    (tmp_path / "mine.py").write_text(source)
    monkeypatch.setattr("bife_core.methods.loading.stored_text", lambda reference: source)
    assert CliRunner().invoke(app, ["export", reference]).exit_code == 0
    assert (tmp_path / file).is_file()


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
