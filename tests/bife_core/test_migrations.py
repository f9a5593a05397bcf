"""A database in a home that a newer MLflow or Prefect made is refused in one sentence."""

import sqlite3
from contextlib import closing
from importlib.metadata import version

import pytest

from bife_core import load_rule
from bife_core.errors import BifeError
from bife_core.migrations import made_by_newer, note_version


@pytest.fixture(params=["mlflow", "prefect"])
def package(request):
    return request.param


def at_revision(database, revision):
    database.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(database)) as opened:
        opened.executescript(
            f"CREATE TABLE alembic_version (version_num); INSERT INTO alembic_version VALUES ('{revision}')"
        )
    return database


def test_a_database_is_refused_whose_tables_the_installed_version_does_not_know(tmp_path, package):
    database, installed = at_revision(tmp_path / "new.db", "0" * 12), version(package)
    assert f"new.db was made by a newer {package}".lower() in made_by_newer(database, package).lower()
    note_version(database, package)
    assert f"{installed}, which is installed, cannot read it" in made_by_newer(database, package)
    assert f"install a newer {package}, or set BIFE_HOME" in made_by_newer(database, package)
    database.with_suffix(".version").write_text("99.1.0")
    assert f"install {package}==99.1.0, or set BIFE_HOME" in made_by_newer(database, package)


def test_what_it_knows_or_cannot_tell_is_not_refused(tmp_path, package):
    known = {"mlflow": "451aebb31d03", "prefect": "9725c1cbee35"}[package]
    assert made_by_newer(at_revision(tmp_path / "old.db", known), package) == ""
    assert made_by_newer(tmp_path / "none.db", package) == ""
    (tmp_path / "text.db").write_text("no database")
    assert made_by_newer(tmp_path / "text.db", package) == ""
    assert not (tmp_path / "none.db").exists()


def test_a_rule_of_such_a_registry_is_refused_in_that_sentence(tmp_path, monkeypatch):
    database = at_revision(tmp_path / "mlflow" / "mlflow.db", "0" * 12)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
    with pytest.raises(BifeError, match=r"mlflow\.db was made by a newer MLflow"):
        load_rule("models:/bife-toys@champion")
