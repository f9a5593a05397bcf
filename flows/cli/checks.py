"""`bife doctor`: whether everything a run needs works here; adding a check is adding a function."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

from bife_core.errors import BifeError
from flows.cli.consoles import show_table, standard_output
from flows.cli.outcome import CommandEnd, ExitCode

State = Literal["ok", "warn", "fail"]

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}
_API_LIMIT_S = 10.0
_IMPORT_LIMIT_S = 120.0
_LEAST_FREE_GB = 2.0
_MODELS_SHOWN = 8


@dataclass(frozen=True)
class Finding:
    """What a check found, in a sentence or less."""

    state: State
    text: str


Check = Callable[[], Finding]

CHECKS: dict[str, Check] = {}
"""All checks by name, in the order they are made and shown."""


def _check(name: str) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        CHECKS[name] = check
        return check

    return register


def doctor(
    instances: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of your own instances, to be checked too: what can be used, and RPB's share in branching over "
            "a few of them, which is what a rule can save at most. Solves up to 3 instances, 60 CPU seconds each.",
        ),
    ] = None,
) -> None:
    """Check solver, compiler, workers, tracking, Prefect and the model API, one line each."""
    console = standard_output()
    checks = CHECKS if instances is None else CHECKS | {"instances": partial(_instances, instances)}
    with console.status("Checking ..."):
        found = {name: examine(check) for name, check in checks.items()}
    rows = [(name, Text(one.state, style=_STYLES[one.state]), one.text) for name, one in found.items()]
    show_table(console, ("check", "state", "found"), rows, numbers=False)
    failed = [name for name, one in found.items() if one.state == "fail"]
    if failed:
        raise CommandEnd(f"These checks failed: {', '.join(failed)}.", ExitCode.ERROR)


def examine(check: Check) -> Finding:
    """Make a check; what it raises is its finding."""
    try:
        return check()
    except BifeError as error:
        return Finding("fail", str(error))
    except Exception as error:  # noqa: BLE001 - whatever a broken installation raises is to be shown
        return Finding("fail", f"{type(error).__name__}: {' '.join(str(error).split())}")


@_check("Python")
def _python() -> Finding:
    return Finding("ok", f"{platform.python_version()} at {sys.executable}")


@_check("BiFE")
def _bife() -> Finding:
    try:
        return Finding("ok", importlib.metadata.version("bife-branching"))
    except importlib.metadata.PackageNotFoundError:
        return Finding("warn", "runs from a source tree; `pip install -e .` makes the command `bife`")


@_check("home")
def _home() -> Finding:
    from tasks.home import project_home

    home = project_home()
    _ = home.runs  # made here if it is missing
    free = shutil.disk_usage(home.root).free / 1e9
    text = f"{home.root}, {free:.1f} GB free"
    return Finding("ok" if free >= _LEAST_FREE_GB else "warn", text)


@_check("cores")
def _cores() -> Finding:
    from bife_core.sandbox import usable_cores

    cores = len(usable_cores())
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    busy = bool(load) and os.getloadavg()[0] > cores + 0.5
    advice = "; other programs are using them, so measured times will scatter" if busy else ""
    return Finding("warn" if busy else "ok", f"{cores} usable{load}{advice}")


@_check("compiler")
def _compiler() -> Finding:
    import numba

    from bife_core.jit import cache_directory

    folder = cache_directory()
    compiled = any(folder.rglob("*.nbc"))
    began_s = time.perf_counter()
    import bife_core.scip.branching  # noqa: F401  (compiles what is not in the cache)

    took = f"loaded in {time.perf_counter() - began_s:.1f} s"
    state = took if compiled else f"compiled and {took}; the next start is quick"
    return Finding("ok", f"numba {numba.__version__}, native code {state}, in {folder}")


@_check("SCIP")
def _scip() -> Finding:
    import pyscipopt

    from bife_core.scip.libscip import library

    found = library()
    return Finding("ok", f"{found.version}, PySCIPOpt {pyscipopt.__version__}, {found.path}")


@_check("rule")
def _rule() -> Finding:
    import numpy as np

    from bife_core.features import N_FEATURES
    from bife_core.methods.loading import load_rule

    rule = load_rule("pseudocost_product")
    rule.score(np.ones((2, N_FEATURES)))
    return Finding("ok", "a reference rule compiles and scores")


@_check("worker")
def _worker() -> Finding:
    from bife_core.sandbox import WorkerPool

    began_s = time.perf_counter()
    with WorkerPool(1, pin=False) as pool:
        call = pool.submit("bife_core.rules.compiling:score_one", {"source": _RULE, "value": 2.0}, limit_s=60)
        scored = call.result()
    took_s = time.perf_counter() - began_s
    if scored["score"] != 2.0:
        return Finding("fail", f"a worker scored {scored['score']} where 2 is right")
    return Finding("ok", f"starts, scores and ends in {took_s:.1f} s")


_RULE = "def candidate_variable_score(variable_features):\n    return variable_features[24]\n"


@_check("walls")
def _walls() -> Finding:
    from bife_core.sandbox import WorkerPool

    with WorkerPool(1, pin=False) as pool:
        facts = pool.submit("bife_core.sandbox.selftest:describe", {}, limit_s=60).result()
    missing = [name for name, found in facts["in_force"].items() if found.startswith("no:")]
    text = "; ".join(f"{name}: {found}" for name, found in facts["in_force"].items())
    return Finding("warn" if missing else "ok", text)


@_check("MLflow")
def _mlflow() -> Finding:
    from tasks.tracking.store import EVOLUTION, experiment_id, tracking_uri

    experiment_id(EVOLUTION)
    return Finding("ok", f"{importlib.metadata.version('mlflow')}, store {_without_password(tracking_uri())}")


@_check("Prefect")
def _prefect() -> Finding:
    # In a process of its own: a version that does not fit breaks at import and leaves half a package behind.
    program = "import prefect, prefect.server.api.server; print(prefect.__version__)"
    try:
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_IMPORT_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return Finding("fail", f"its import took more than {_IMPORT_LIMIT_S:g} s")
    fastapi = f"fastapi {importlib.metadata.version('fastapi')}"
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no message"])[-1]
        advice = "`pip install 'fastapi<0.151'` may help"
        return Finding("fail", f"cannot be imported with {fastapi} ({said}); {advice}")
    api = os.environ.get("PREFECT_API_URL")
    where = f"API {_without_password(api)}" if api else "API started with each run"
    if api:
        status = _status(f"{api.rstrip('/')}/health")
        if status != 200:
            return Finding("fail", f"{where} answers with HTTP {status}")
    return Finding("ok", f"{done.stdout.split()[-1]}, {fastapi}, {where}")


@_check("model API")
def _model_api() -> Finding:
    from bife_core.generators import DraftingStoppedError
    from bife_core.generators.base import NoDraftError
    from bife_core.generators.model_api import offered
    from bife_core.generators.model_settings import ModelApiSettings

    settings = ModelApiSettings.from_environment()
    if settings.base_url is None and settings.model is None:
        return Finding("ok", "none configured, and none needed: the offline grammar writes rules")
    _, model = settings.require_complete()
    try:
        names = offered(settings, limit_s=_API_LIMIT_S)
    except NoDraftError as error:
        return Finding("fail" if isinstance(error, DraftingStoppedError) else "warn", str(error))
    if not names:
        return Finding("ok", f"{settings.address} answers, though it lists no models; model {model}")
    # Gemini and Ollama list names with a part that may be left out.
    if any(model in (name, name.removeprefix("models/"), name.removesuffix(":latest")) for name in names):
        return Finding("ok", f"{settings.address} answers and offers {model}")
    listed = ", ".join(names[:_MODELS_SHOWN]) + (" ..." if len(names) > _MODELS_SHOWN else "")
    return Finding("warn", f"{settings.address} answers, but does not list {model}; it lists {listed}")


@_check("Ecole")
def _ecole() -> Finding:
    present = importlib.util.find_spec("ecole") is not None
    return Finding("ok", "present" if present else "absent; it is optional")


def _instances(folder: Path) -> Finding:
    from bife_core.benchmarks.base import SPLITS
    from bife_core.config import InstancesConfig
    from bife_core.presets import preset, with_overrides
    from tasks.collection import benchmark, precheck

    # What `bife run --instances DIR` would solve: it finds these solves done.
    config = with_overrides(
        preset("quick"),
        {"instances": InstancesConfig(benchmark="folder", folder=folder).model_dump(mode="json")},
    )
    opened = benchmark(config.instances)
    usable = {one.digest for split in SPLITS for one in opened.instances(split, sys.maxsize)}
    found = precheck.fn(config)
    text = " ".join([f"{len(usable)} can be used.", *opened.notes, found.sentence])
    return Finding(
        "warn" if getattr(opened, "left_out", ()) or found.little or found.share is None else "ok", text
    )


def _status(address: str) -> int:
    """Return the HTTP status an address answers with."""
    import httpx

    try:
        return httpx.get(address, timeout=_API_LIMIT_S).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise BifeError(f"{_without_password(address)} cannot be reached: {error}.") from error


def _without_password(address: str) -> str:
    """Return an address without what stands before the @ of its host."""
    return re.sub(r"//[^/@]*@", "//", address)
