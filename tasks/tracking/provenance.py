"""What a run in MLflow comes from: its author, command or deployment, code, machine, and flow run of Prefect."""

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
"""Tag: the flow run that was started, of which the one that made a record may be a part."""

_ROOT: Final = Path(__file__).resolve().parents[2]


def provenance() -> dict[str, str]:
    """Return the tags of a run that begins now; MLflow's own names where it has one."""
    return {MLFLOW_USER: user(), **_program(), **_source()}


@cache
def user() -> str:
    """Return the login name of the user who runs this process, or "unknown"."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may run as a number that has no name
        return "unknown"


@cache
def _program() -> dict[str, str]:
    machine = this_machine()
    return code() | {
        **{f"{part}.version": machine.versions[part] for part in ("bife", "scip", "pyscipopt", "python")},
        "machine": f"{machine.cpu}, {machine.usable_cores} usable cores, {machine.memory_gib:.1f} GiB",
        "machine.digest": machine.digest,
    }


def code() -> dict[str, str]:
    """Return the commit of BiFE's own code: of the checkout it runs from, or the one it was installed from."""
    commit, changed = git("rev-parse", "HEAD"), git("status", "--porcelain", "--untracked-files=no")
    if commit is not None and changed is not None:
        return {MLFLOW_GIT_COMMIT: commit, MLFLOW_GIT_DIRTY: str(bool(changed)).lower()}
    with suppress(PackageNotFoundError, ValueError, KeyError):
        origin = json.loads(distribution("bife-branching").read_text("direct_url.json") or "{}")
        return {MLFLOW_GIT_COMMIT: str(origin["vcs_info"]["commit_id"])}
    return {}


def git(*words: str) -> str | None:
    """Return what git prints for the checkout this code runs from; None where it is none, or git cannot be used."""
    if not (_ROOT / ".git").exists():
        return None
    command = ["git", "-C", str(_ROOT), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _source() -> dict[str, str]:
    """Return what started the run, and its flow run; a Prefect API that does not answer leaves the latter out."""
    words = [Path(sys.argv[0]).name, *sys.argv[1:]] if sys.argv and sys.argv[0] else ["python"]
    tags = {MLFLOW_SOURCE_TYPE: "LOCAL", MLFLOW_SOURCE_NAME: shlex.join(words)[:1000]}
    with suppress(httpx.HTTPError, PrefectException):
        number = runtime.flow_run.id
        if number is None:
            return tags
        tags |= {
            "prefect.flow_run_id": number,
            WHOLE_RUN: runtime.flow_run.root_flow_run_id,
            "prefect.flow_run_name": runtime.flow_run.name,
            # An API that ends with its run has no pages.
            "prefect.flow_run_url": url_for("flow-run", obj_id=number) or "",
        }
        deployment = runtime.deployment.name
        if deployment is not None:
            tags |= {MLFLOW_SOURCE_TYPE: "JOB", MLFLOW_SOURCE_NAME: f"deployment {deployment}"}
    return {name: value for name, value in tags.items() if value}
