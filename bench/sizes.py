"""What flows and what stays of one run: bytes of models, decisions, calls and results, rows and bytes of databases."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from statistics import mean
from typing import Any

from bife_core.benchmarks.base import Instance
from bife_core.methods.rule import RuleMethod
from bife_core.scip.solving import SolveSettings
from bife_core.solves import SolveJob
from flows.results import PipelineResult

_PREFECT = ("flow_run", "flow_run_state", "task_run", "task_run_state", "artifact", "events", "log")


class Databases:
    """The databases of Prefect and MLflow in a home, and how much a run adds to them; made before it begins."""

    def __init__(self, home: Path) -> None:
        self._prefect = home / "prefect" / "prefect.db"
        self._mlflow = home / "mlflow" / "mlflow.db"
        self._before = self._state()

    def added(self) -> dict[str, Any]:
        """Return bytes of each database and rows of Prefect's that were added since."""
        after = self._state()
        return {name: after[name] - self._before[name] for name in after}

    def _state(self) -> dict[str, int]:
        state = {"prefect_bytes": _bytes(self._prefect), "mlflow_bytes": _bytes(self._mlflow)}
        with closing(sqlite3.connect(self._prefect)) as database:
            for table in _PREFECT:
                state[table] = int(database.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        return state


def sizes(home: Path, added: dict[str, Any], result: PipelineResult) -> dict[str, Any]:
    """Return the bytes of a model, a recorded decision, a call that solves, its result, and a sample's records.

    A sample's records hold its share of what the databases and the artifacts keep of the whole run.
    """
    evolved, evaluated = result.evolution, result.evaluation
    assert evolved.decisions is not None
    assert evaluated is not None
    models = [path for path in (home / "instances").rglob("*.mps*") if path.is_file()]
    method = RuleMethod(name="rule", source=evaluated.source)
    call = SolveJob.of(Instance("model", models[0], "0" * 16), method, SolveSettings())
    artifacts = _total((home / "mlflow" / "artifacts").rglob("*"))
    samples = len(evolved.samples)
    return {
        "model": round(mean(path.stat().st_size for path in models)),
        "decision": round(evolved.decisions.path.stat().st_size / evolved.decisions.decisions),
        "call": len(call.model_dump_json()),
        "result": round(mean(path.stat().st_size for path in (home / "solves").rglob("*.json"))),
        "mlflow_database_a_sample": round(added["mlflow_bytes"] / samples),
        "mlflow_artifacts_a_sample": round(artifacts / samples),
        "prefect_database_a_sample": round(added["prefect_bytes"] / samples),
        "prefect_rows_a_sample": {table: round(added[table] / samples, 1) for table in _PREFECT},
    }


def _total(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths if path.is_file())


def _bytes(database: Path) -> int:
    """Return the size of a database's pages, those that are still in its log included."""
    with closing(sqlite3.connect(database)) as connection:
        pages, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
        )
    return int(pages) * int(size)
