"""Empty databases: of Prefect and MLflow, migrated once for all tests, and of a test's own store."""

import asyncio
import fcntl
import os
import shutil
import uuid

from sqlalchemy import create_engine
from sqlalchemy.schema import CreateSchema

NAMES = ("prefect/prefect.db", "mlflow/mlflow.db")
"""Where they lie in a home."""

SERVER = os.environ.get("BIFE_TEST_POSTGRES")
"""Address of a PostgreSQL with the databases ``bife`` and ``mlflow``; None for tests on SQLite."""


def new_database(folder):
    """Return where a store of its own lies: in the folder, or in a schema of its own on the server."""
    if SERVER is None:
        return str(folder)
    engine, name = create_engine(f"{SERVER}/bife"), f"test_{uuid.uuid4().hex}"
    with engine.begin() as connection:
        connection.execute(CreateSchema(name))
    engine.dispose()
    return f"{SERVER}/bife?options=-csearch_path%3D{name}"


def copy_databases(template, home):
    """Give a home what `template` has, which is made by the first process, and return the home.

    A home that has a database keeps it.
    """
    with (template / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (template / "made").exists():
            for name in NAMES:
                (template / name).unlink(missing_ok=True)  # half of it, where a session was killed
            _make_prefects(template / NAMES[0])
            _make_mlflows(template / NAMES[1])
            (template / "made").touch()
    for name in NAMES:
        if not (home / name).exists():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(template / name, home / name)
    return home


def _make_prefects(path):
    from prefect.server.database import provide_database_interface
    from prefect.settings import PREFECT_SERVER_DATABASE_CONNECTION_URL, temporary_settings

    async def make():
        database = provide_database_interface()
        await database.create_db()
        await (await database.engine()).dispose()

    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_settings({PREFECT_SERVER_DATABASE_CONNECTION_URL: f"sqlite+aiosqlite:///{path}"}):
        asyncio.run(make())


def _make_mlflows(path):
    from bife_tasks.tracking.mlflow_runs import _make_database

    _make_database(f"sqlite:///{path}")
