"""With another tracker than MLflow the commands neither start nor load MLflow: here it is not even installed."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from bife_core.cli.backend import _STAGES
from bife_flows import stages
from tests.support.programs import python, sentence

WITHOUT_MLFLOW = "import sys; sys.modules['mlflow'] = None; from bife_core.cli.program import main; main()"
"""The command line where nothing can import MLflow."""
MARK = "-----\n"
IN_TURN = f"""
import json
for words in json.loads(sys.argv[1]):
    sys.argv = ["bife", *words]
    try: main()
    except SystemExit as end: print(end.code or 0, {MARK!r}, file=sys.stderr, end="")
    print({MARK!r}, end="", flush=True)
"""
RUN = f"runs:/{'a' * 32}"


@pytest.fixture
def in_turn(tmp_path):
    """Call commands in one process, and return what each printed, and on standard error, before its exit code."""

    def called(*commands):
        code = WITHOUT_MLFLOW.replace("main()", IN_TURN)
        said = python("-c", code, json.dumps(commands), home=tmp_path, BIFE_TRACKER="store")
        return said.stdout.split(MARK)[:-1], said.stderr.split(MARK)[:-1]

    return called


def test_what_the_tracker_does_not_say_is_said_in_a_sentence(in_turn):
    (shown, tracked, *_), errors = in_turn(
        ["status"], ["track"], ["track", "--rebuild"], ["rules", "list"], ["rules", "show", RUN]
    )
    assert "Runs are kept by the store, by BIFE_TRACKER; what it lacks" in shown
    assert tracked.lstrip().startswith("Runs are kept by the store, which reports no lack")
    assert shown.splitlines()[-1].startswith("BiFE is not up;")
    assert sentence(errors[2].removesuffix("1 ")).startswith(
        "--rebuild is for MLflow, and BIFE_TRACKER names"
    )
    assert [error.split()[-1] for error in errors] == ["0", "0", "1", "0", "1"]
    assert "MLflow has no database here, or is not the" in errors[-1]


@pytest.mark.slow
def test_a_stage_runs_as_a_flow_and_what_it_left_is_pruned(in_turn, databases, tmp_path):
    shutil.rmtree(databases(tmp_path) / "mlflow")
    few = ("--seed", "0", "--workers", "1", "--set", "collection.decisions=2")
    (_, pruned), errors = in_turn(["collect", "--preset", "smoke", *few], ["prune", "--keep-days", "1"])
    assert [error.split()[-1] for error in errors] == ["0", "0"], errors
    assert "Runs that the store keeps are not known here, and stay." in pruned
    with closing(sqlite3.connect(tmp_path / "prefect" / "prefect.db")) as database:
        assert database.execute("SELECT count(*) FROM flow_run").fetchone() == (1,)
    assert not (tmp_path / "mlflow").exists()


@pytest.mark.long
def test_up_starts_prefect_and_the_worker_alone(tmp_path):
    def bare(*words):
        return python("-c", WITHOUT_MLFLOW, *words, home=tmp_path, BIFE_TRACKER="store")

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
