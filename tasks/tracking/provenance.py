"""Who or what a run in MLflow comes from: its author, command or deployment, code, machine, and run of Prefect's.

It is written to the run's folder when the run begins, and told to MLflow from there, so that a record which is
delivered later, or by somebody else, says what it would have said at once.
"""

from __future__ import annotations

import getpass
import json
import shlex
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

import httpx
from mlflow.utils.mlflow_tags import (
    MLFLOW_GIT_COMMIT,
    MLFLOW_GIT_DIRTY,
    MLFLOW_SOURCE_NAME,
    MLFLOW_SOURCE_TYPE,
    MLFLOW_USER,
)
from prefect import runtime
from prefect.exceptions import PrefectException
from prefect.utilities.urls import url_for

from bife_core.machine import this_machine

WHOLE_RUN: Final = "prefect.root_flow_run_id"
"""Tag: Prefect's run that was started, of which the one that a record is of may be a part."""

_ROOT: Final = Path(__file__).resolve().parents[2]
_GIT_LIMIT_S: Final = 10.0
_LONGEST_COMMAND: Final = 1000


def provenance() -> dict[str, str]:
    """Return the tags of a run that begins now; MLflow's own names where it has one."""
    return {MLFLOW_USER: user(), **_code(), **_machine(), **_source()}


@cache
def user() -> str:
    """Return the login name of whoever runs this process, or "unknown"."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may run as a number that has no name
        return "unknown"


@cache
def _machine() -> dict[str, str]:
    machine = this_machine()
    return {
        "bife.version": machine.versions["bife"],
        "scip.version": machine.versions["scip"],
        "pyscipopt.version": machine.versions["pyscipopt"],
        "python.version": machine.versions["python"],
        "machine": f"{machine.cpu}, {machine.usable_cores} usable cores, {machine.memory_gib:.1f} GiB",
        "machine.digest": machine.digest,
    }


@cache
def _code() -> dict[str, str]:
    """Return the commit of BiFE's own code: of the checkout it runs from, or the one it was installed from."""
    commit, changed = git("rev-parse", "HEAD"), git("status", "--porcelain", "--untracked-files=no")
    if commit is not None and changed is not None:
        return {MLFLOW_GIT_COMMIT: commit, MLFLOW_GIT_DIRTY: str(bool(changed)).lower()}
    with suppress(PackageNotFoundError, ValueError, KeyError):
        origin = json.loads(distribution("bife-branching").read_text("direct_url.json") or "{}")
        return {MLFLOW_GIT_COMMIT: str(origin["vcs_info"]["commit_id"])}
    return {}


def git(*words: str) -> str | None:
    """Return what git says of the checkout this code runs from; None where it is none, or there is no git."""
    if not (_ROOT / ".git").exists():
        return None
    command = ["git", "-C", str(_ROOT), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_GIT_LIMIT_S)
    except (OSError, subprocess.SubprocessError):  # somebody else's checkout, too
        return None
    return done.stdout.strip()


def _source() -> dict[str, str]:
    """Return what started the run, and Prefect's run of it; a Prefect API that is away leaves the latter out."""
    known = {MLFLOW_SOURCE_TYPE: "LOCAL", MLFLOW_SOURCE_NAME: command_line()}
    with suppress(httpx.HTTPError, PrefectException):
        number = runtime.flow_run.id
        if number is None:
            return known
        known |= {
            "prefect.flow_run_id": number,
            WHOLE_RUN: runtime.flow_run.root_flow_run_id,
            "prefect.flow_run_name": runtime.flow_run.name,
            # An API that ends with its run has no pages.
            "prefect.flow_run_url": url_for("flow-run", obj_id=number) or "",
        }
        deployment = runtime.deployment.name
        if deployment is not None:
            known |= {MLFLOW_SOURCE_TYPE: "JOB", MLFLOW_SOURCE_NAME: f"deployment {deployment}"}
    return {name: value for name, value in known.items() if value}


def command_line() -> str:
    """Return the command of this process as a person would type it, such as ``bife run --preset quick``."""
    words = [Path(sys.argv[0]).name, *sys.argv[1:]] if sys.argv and sys.argv[0] else ["python"]
    return shlex.join(words)[:_LONGEST_COMMAND]
