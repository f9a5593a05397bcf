"""What a run in MLflow comes from: its author, command or deployment, code, machine, and flow run of Prefect."""

from __future__ import annotations

import shlex
import subprocess
import sys
from contextlib import suppress
from functools import cache
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

from bife_core.solver.machine import this_machine, user
from bife_tasks.stores import started_run

WHOLE_RUN: Final = "prefect.root_flow_run_id"
"""Tag: the flow run that was started, of which the one that made a record may be a part."""


def provenance() -> dict[str, str]:
    """Return the tags of a run that begins now; MLflow's own names where it has one."""
    words = [Path(sys.argv[0]).name, *sys.argv[1:]] if sys.argv and sys.argv[0] else ["python"]
    tags = _program() | {MLFLOW_SOURCE_TYPE: "LOCAL", MLFLOW_SOURCE_NAME: shlex.join(words)[:1000]}
    with suppress(httpx.HTTPError, PrefectException):  # an API that does not answer leaves its tags out
        number, deployment = runtime.flow_run.id, runtime.deployment.name
        if deployment is not None:
            tags |= {MLFLOW_SOURCE_TYPE: "JOB", MLFLOW_SOURCE_NAME: f"deployment {deployment}"}
        if number is not None:
            tags |= {
                "prefect.flow_run_id": number,
                WHOLE_RUN: started_run() or runtime.flow_run.root_flow_run_id,
                # An API that ends with its run has no pages.
                "prefect.flow_run_url": url_for("flow-run", obj_id=number) or "",
            }
    return {name: value for name, value in tags.items() if value}


@cache
def _program() -> dict[str, str]:
    machine = this_machine()
    return {
        MLFLOW_USER: user(),
        MLFLOW_GIT_COMMIT: git("rev-parse", "HEAD") or "",
        MLFLOW_GIT_DIRTY: str(bool(git("status", "--porcelain", "--untracked-files=no"))).lower(),
        **{f"{part}.version": machine.versions[part] for part in ("bife", "scip", "pyscipopt", "python")},
        "machine": f"{machine.cpu}, {machine.usable_cores} usable cores, {machine.memory_gib:.1f} GiB",
        "machine.digest": machine.digest,
    }


def git(*words: str) -> str | None:
    """Return what git prints for the checkout that has this file; None where none has it, or git cannot be used."""
    file, printed = Path(__file__), ""
    try:
        # An installed copy may lie below a checkout of something else.
        for command in (("ls-files", "--error-unmatch", file.name), words):
            run = ["git", "-C", str(file.parent), *command]
            printed = subprocess.run(run, capture_output=True, text=True, check=True, timeout=10).stdout
        return printed.strip()
    except (OSError, subprocess.SubprocessError):
        return None
