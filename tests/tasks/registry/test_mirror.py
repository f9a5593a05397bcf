"""The mirror of MLflow's registry: it answers without MLflow, and never with what is no longer so."""

import os
import time
from pathlib import Path

import pytest

from bife_core.base.places import sqlite_file
from bife_core.registry.evidence import CHAMPION
from bife_core.solver.methods.references import read_stored
from bife_tasks import mirror as mirrors
from bife_tasks.mirror import mirrored
from bife_tasks.registry.mirrored import MirroredRegistry
from bife_tasks.registry.mlflow_registry import IN_MLFLOW
from bife_tasks.tracking import mlflow_runs
from tests.support.challenging import made_champion


@pytest.fixture
def database():
    if (file := sqlite_file(mlflow_runs.tracking_uri())) is None:
        pytest.skip("only a database that is a file has a mirror")
    return Path(file)


def settled(database):
    """Have a database look as if nobody had written to it for a while."""
    long_ago = time.time() - 60
    os.utime(database, (long_ago, long_ago))


def refuse(*args, **kwargs):
    raise AssertionError("MLflow is asked")


def test_what_was_read_is_had_without_mlflow_until_the_database_changes(name, database, monkeypatch):
    first, second = made_champion(name, 0), made_champion(name, 1, ratio=0.9)
    IN_MLFLOW.set_alias(name, CHAMPION, first.version)
    settled(database)
    registry, reference = MirroredRegistry(database), f"models:/{name}@{CHAMPION}"
    held = registry.versions()
    assert held == IN_MLFLOW.versions()
    with monkeypatch.context() as without:
        for method in ("versions", "find", "text"):
            without.setattr(type(IN_MLFLOW), method, refuse)
        without.setattr("bife_tasks.reading.text_of", refuse)
        assert registry.versions() == held
        assert registry.find(name, CHAMPION).version == first.version
        assert read_stored(reference) == (registry.text(first), registry.find(name, CHAMPION).tags)
    registry.set_alias(name, CHAMPION, second.version)
    assert registry.find(name, CHAMPION).version == second.version
    assert read_stored(reference)[0] == IN_MLFLOW.text(second)


def test_a_database_that_may_still_be_written_to_and_a_file_that_was_cut_are_no_mirror(name, database):
    made_champion(name, 0)
    os.utime(database)
    MirroredRegistry(database).versions()
    assert mirrored(database) is None
    settled(database)
    MirroredRegistry(database).versions()
    assert mirrored(database) is not None
    file = mirrors._file(database)
    file.write_bytes(file.read_bytes()[:-20])
    assert mirrored(database) is None
