"""What a run left on disk and in MLflow, in a form two runs can be compared in."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from bife_core.run.stages.records import SEARCH
from bife_core.search.generators import Spending
from bife_core.store import DATABASE, Store

_COUNTING = """
    CREATE TABLE repeated (key TEXT);
    CREATE TRIGGER repeating BEFORE INSERT ON solves WHEN EXISTS (SELECT 1 FROM solves WHERE key = new.key)
    BEGIN INSERT INTO repeated VALUES (new.key); SELECT RAISE(IGNORE); END;
"""
"""Has a store count the solves that it is given again, which it drops."""

_COMPARED = ("id", "sha", "f_lf", "f_hf", "operator", "generation", "parents", "failure", "source")


@dataclass(frozen=True)
class Remains:
    """The outcome of a search and what MLflow knows of it.

    `population` has all samples, best first, without what depends on time; `runs` counts runs by experiment, name and
    status; `doubled_points` are metrics of a step, spending aside, with more than one value, `repeated_solves` solves
    whose result was in the store already when they ended.
    """

    key: str
    population: list[dict[str, Any]]
    best_rule: str
    runs: Counter[tuple[str, str, str]]
    versions: int
    doubled_points: int
    repeated_solves: int


def prepare(home):
    """Make the store of a home, and have it count the solves that it is given again."""
    with closing(Store(home)), closing(sqlite3.connect(home / DATABASE)) as database:
        database.executescript(_COUNTING)


def _database(path):
    return closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True))


def read(home, key="*"):
    """Read what one finished pipeline left in a home; where there are several, the search with that key."""
    (directory,) = [path.parent for path in home.glob(f"runs/{key}/samples.json")]
    rows = json.loads((directory / "samples.json").read_text())
    with _database(home / "mlflow" / "mlflow.db") as database:
        every = "select e.name, r.name, r.status from runs r join experiments e using (experiment_id)"
        runs = Counter(tuple(map(str, row)) for row in database.execute(every))
        (versions,) = database.execute("select count(*) from model_versions").fetchone()
        counts = database.execute("select key from metrics group by run_uuid, key, step having count(*) > 1")
        # What a search had spent when it was stopped in a generation is another point than at its end.
        doubled = sum(key not in Spending.model_fields for (key,) in counts)
    return Remains(
        key=directory.name,
        population=[{name: row[name] for name in _COMPARED} for row in rows],
        best_rule=(directory / "best_rule.py").read_text(),
        runs=runs,
        versions=versions,
        doubled_points=doubled,
        repeated_solves=repeated_solves(home),
    )


def repeated_solves(home):
    """Return how many solves came to the store of a home that it had; `prepare` was called on it."""
    with _database(home / DATABASE) as database:
        (count,) = database.execute("select count(*) from repeated").fetchone()
    return int(count)


def tracked(home, key):
    """Return how many runs MLflow has of each part of a search: its parent under "", samples by their id."""
    with _database(home / "mlflow" / "mlflow.db") as database:
        rows = database.execute(
            "select coalesce(c.value, '') from tags k join runs using (run_uuid) join experiments e "
            "using (experiment_id) left join tags c on c.run_uuid = k.run_uuid and c.key = 'sample_id' "
            "where k.key = 'search_key' and k.value = ? and e.name = ?",
            (key, SEARCH),
        )
        return Counter(str(name) for (name,) in rows)


def recorded(home):
    """Return the files of recorded decisions, which must never be made twice, with inode and time."""
    return {
        path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in home.glob("decisions/*/parts/*.npz")
    }


def answered_unix_s(home):
    """Return when the last answer to each request had come, by what a study calls it."""
    if not (home / DATABASE).exists():
        return {}
    with _database(home / DATABASE) as database:
        rows = database.execute("select key, body from calls order by number").fetchall()
    bodies = {str(key): json.loads(body) for key, body in rows}
    return {name: body["started_unix_s"] + body["seconds"] for name, body in bodies.items()}
