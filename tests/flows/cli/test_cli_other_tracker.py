"""With another tracker than MLflow the commands neither start nor load MLflow: here it is not even installed."""

import pytest

from bife_core.cli.backend import _STAGES
from bife_flows import stages
from tests.support.programs import python, sentence

WITHOUT_MLFLOW = "import sys; sys.modules['mlflow'] = None; from bife_core.cli.program import main; main()"
"""The command line where nothing can import MLflow."""


@pytest.fixture
def bare(tmp_path):
    return lambda *words: python("-c", WITHOUT_MLFLOW, *words, home=tmp_path, BIFE_TRACKER="store")


def test_what_the_tracker_does_not_say_is_said_in_a_sentence(bare):
    shown = bare("status")
    assert "Runs are kept by the store, by BIFE_TRACKER; what it lacks" in shown.stdout
    assert sentence(shown.stderr).startswith("BiFE is not up in")
    assert bare("track").stdout.startswith("Runs are kept by the store, which reports no lack")
    assert sentence(bare("track", "--rebuild").stderr).startswith(
        "--rebuild is for MLflow, and BIFE_TRACKER names"
    )
    assert bare("rules", "list").returncode == 0
    assert "MLflow has no database here, or is not the" in bare("rules", "show", f"runs:/{'a' * 32}").stderr


@pytest.mark.slow
def test_a_stage_runs_as_a_flow_and_what_it_left_is_pruned(bare, tmp_path):
    collected = bare("collect", "--preset", "smoke", "--seed", "0")
    assert collected.returncode == 0, collected.stderr
    pruned = bare("prune", "--keep-days", "1")
    assert "Runs that the store keeps are not known here, and stay." in pruned.stdout, pruned.stderr
    assert (tmp_path / "prefect" / "prefect.db").exists()
    assert not (tmp_path / "mlflow").exists()


@pytest.mark.long
def test_up_starts_prefect_and_the_worker_alone(bare, tmp_path):
    try:
        started = bare("up", "--detach")
        assert "the store, whose pages `bife up` does not serve" in started.stdout, started.stderr
        parts = bare("status").stdout.splitlines()
        assert [line.split()[0] for line in parts if " answers" in line] == ["Prefect", "worker"]
    finally:
        bare("down")
    assert not (tmp_path / "mlflow").exists()


def test_each_stage_of_a_command_has_a_flow():
    assert {name for name in _STAGES if not hasattr(stages, name)} == set()
