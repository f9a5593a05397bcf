"""`bife doctor`: whether everything a run needs works here; adding a check is adding a function."""

from __future__ import annotations

import os
import platform
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from typer import Option

from bife_core.base.errors import BifeError, ConfigError
from bife_core.base.wording import in_one_line
from bife_core.cli.backend import Check, Finding, backend
from bife_core.cli.consoles import say, show_table, standard_output, styled
from bife_core.cli.options import Output, check_kept, keep, resolve
from bife_core.cli.outcome import CommandEnd
from bife_core.store.home import project_home

if TYPE_CHECKING:
    from bife_core.tuning.tuner import Tuning

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}

_INSTANCES: Final = (
    "Folder of your own instances, to be checked too, in two minutes: what can be used, whether there are enough for a "
    "champion, where SCIP's time goes, what some settings of SCIP take, and how long a run will."
)
_PEERS: Final = (
    "Say what HiGHS and CP-SAT take on three of these instances, or of a family that --instances names, if they are "
    "installed: a minute and a half more at most."
)
_SHORT: Final = ["high.time_limit_s=15"]
_OUTPUT: Final = Path("doctor-DIR.set")  # with the name of the folder, so that each folder has its own


def doctor(
    instances: Annotated[Path | None, Option(metavar="DIR", help=_INSTANCES)] = None,
    groups: Annotated[str | None, Option(metavar="REGEX")] = None,
    output: Output = _OUTPUT,
    peers: Annotated[bool, Option("--peers", help=_PEERS)] = False,
) -> None:
    """Check solver, compiler, workers, tracking, Prefect and the model API, one line each."""
    further = {"peers": partial(_peers, instances, groups)} if peers else {}
    if peers and instances is not None and not instances.is_dir():
        instances = None  # a family
    if instances is not None:
        output = Path(f"doctor-{instances.resolve().name}.set") if output == _OUTPUT else output
        check_kept(output, instances)
        need = _need(instances, groups)
        if need.state == "warn":  # said before anything is solved
            say(f"note: {need.text}")
        say(
            "Up to three instances are solved, and then some starting settings tried: two minutes on idle cores."
        )
    checks = CHECKS | dict(backend().checks)
    if instances is not None:
        checks["instances"] = partial(_instances, instances, groups, output)
    checks |= further
    with standard_output().status("Checking ..."):
        findings = {name: examine(check) for name, check in checks.items()}
    rows = [(name, styled(state, _STYLES[state]), text) for name, (state, text) in findings.items()]
    show_table(("check", "state", "finding"), rows, numbers=False)
    failed = [name for name, finding in findings.items() if finding.state == "fail"]
    if failed:
        raise CommandEnd(f"These checks failed: {', '.join(failed)}.")


def examine(check: Check) -> Finding:
    """Make a check; what it raises is its finding."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - whatever a broken installation raises is to be shown
        return Finding("fail", in_one_line(error))


def _home() -> Finding:
    home = project_home()
    home.require_room()
    free = home.free_mb / 1000
    return Finding("ok" if free >= 2.0 else "warn", f"{home.root}, {free:.1f} GB free")


def _cores() -> Finding:
    from bife_core.workers import usable_cores

    cores, load = len(usable_cores()), os.getloadavg()[0]
    # Other programs on them make measured times scatter.
    return Finding("warn" if load > cores + 0.5 else "ok", f"{cores} usable, load {load:.1f}")


def _scip() -> Finding:
    import pyscipopt

    from bife_core.solver.scip.libscip import scip_version

    return Finding("ok", f"{scip_version()}, PySCIPOpt {pyscipopt.__version__}, {pyscipopt.scip.__file__}")


def _worker() -> Finding:
    from bife_core.workers import WorkerPool

    rule = "def candidate_variable_score(variable_features):\n    return variable_features[24]\n"
    began_s = time.perf_counter()
    with WorkerPool(1, pin=False) as pool:
        scoring = "bife_core.language.rules.compiling:score_one"
        scored = pool.submit(scoring, {"source": rule, "value": 2.0}, limit_s=60).result()
        measures = pool.submit("bife_core.workers.selftest:describe", {}, limit_s=60).result()["in_force"]
    took_s = time.perf_counter() - began_s
    if scored["score"] != 2.0:
        return Finding("fail", f"a worker scored {scored['score']} where 2 is right")
    missing = any(state.startswith("no:") for state in measures.values())
    confined = "; ".join(f"{name}: {state}" for name, state in measures.items())
    return Finding("warn" if missing else "ok", f"compiles and scores a rule in {took_s:.1f} s; {confined}")


def _model_api() -> Finding:
    needless = "none needed: the offline grammar writes rules"
    try:
        from bife_core.search.generators import DraftingStoppedError
        from bife_core.search.generators.base import NoDraftError
        from bife_core.search.generators.model_settings import ModelApiSettings
        from bife_core.search.generators.openai_compatible import offered
    except ModuleNotFoundError as error:
        return Finding("ok", f"{error.name} is not installed (extra llm), and {needless}")

    settings = ModelApiSettings.from_environment()
    if settings.base_url is None and settings.model is None:
        return Finding("ok", f"none configured, and {needless}")
    _, models = settings.require_complete()
    try:
        names = offered(settings)
    except NoDraftError as error:
        return Finding("fail" if isinstance(error, DraftingStoppedError) else "warn", str(error))
    # Gemini and Ollama list names with a part that may be left out.
    listed = {*names, *(name.removeprefix("models/").removesuffix(":latest") for name in names)}
    if missing := [model for model in models if names and model not in listed]:
        lack = f"lists no {', '.join(missing)}; it has {', '.join(names[:8])}"
        return Finding("warn", f"{settings.base_url} answers, but {lack}")
    return Finding("ok", f"{settings.base_url} answers; model {', '.join(models)}")


CHECKS: dict[str, Check] = {
    "Python": lambda: Finding("ok", f"{platform.python_version()} at {sys.executable}"),
    "home": _home,
    "cores": _cores,
    "SCIP": _scip,
    "worker": _worker,
    "model API": _model_api,
}
"""All checks by name, in the order they are made and shown."""


def _need(folder: Path, groups: str | None) -> Finding:
    """Find whether a folder has enough instances for a champion, and how many that takes."""
    from bife_core.instances.folder import fewest_usable, open_folder
    from bife_core.measure.evaluation.comparison import LARGE_GAIN, fewest_for_champion

    tested, units = fewest_for_champion(1), "groups" if groups else "instances"
    usable = len(open_folder(folder, project_home().instances, groups=groups).ordered)
    half = fewest_usable(fewest_for_champion(1, 0.5))
    need = (
        f"A champion needs {fewest_usable(tested)} {units} or more, for {tested} of them to be held out, if it takes "
        f"{LARGE_GAIN:g} of RPB's time on each, and {half} if it takes half."
    )
    if usable < half:
        return Finding("warn", f"{need} Add instances of this kind, there are {usable}.")
    return Finding("ok", need)


def _instances(folder: Path, groups: str | None = None, output: Path = _OUTPUT) -> Finding:
    from bife_core.instances.folder import open_folder
    from bife_core.run.stages.precheck import precheck
    from bife_core.run.stages.runtime import Runtime
    from bife_core.run.stages.tune import try_starts

    opened, need = open_folder(folder, project_home().instances, groups=groups), _need(folder, groups)
    # With three instances, two cores and `try_starts`, all ends within two minutes.
    config = resolve({"instances": str(folder), "groups": groups, "settings": _SHORT})
    runtime = Runtime()
    usable = " ".join([f"{len(opened.usable)} can be used.", *opened.notes])
    try:
        goes = precheck(config, runtime)
        tuning = try_starts(goes.put_into(config), runtime)
    except BifeError as error:
        return Finding("fail", f"{usable}\n{need.text}\n{error}")
    lines = (
        usable,
        need.text,
        goes.sentence,
        "Trial, instances, ratio to SCIP's defaults (* the best so far) and settings; solves end after 15 s:",
        *(trial.line(number, {}) for number, trial in enumerate(tuning.trials)),
        _at_once(tuning, output),
    )
    poor = opened.left_out or goes.expected is None or need.state == "warn"
    return Finding("warn" if poor else "ok", "\n".join(lines))


def _peers(instances: Path | None, groups: str | None) -> Finding:
    from bife_core.measure.context import measure_reference
    from bife_core.measure.peers import beside
    from bife_core.run.stages.precheck import PRECHECKED
    from bife_core.run.stages.runtime import Runtime

    if instances is None:
        raise ConfigError("--peers needs instances: add --instances with a folder or the name of a family.")
    config = resolve({"instances": str(instances), "groups": groups, "settings": _SHORT})
    runtime = Runtime()
    chosen = runtime.benchmark(config.instances).instances("design", PRECHECKED)
    usual = measure_reference(chosen, runtime.solving(config)).results  # which `precheck` has solved
    solves = [(each.path, result) for each, result in zip(chosen, usual, strict=True) if result is not None]
    return Finding("ok", "\n".join(beside(solves, config.high.time_limit_s)))


def _at_once(tuning: Tuning, output: Path) -> str:
    """Write the best configuration, and say how it is used."""
    if tuning.too_short:
        return tuning.sentence
    if tuning.by_chance:
        tried = f"{len(tuning.trials) - 1} of {tuning.starting} starting settings"
        return f"None of them is better than SCIP's defaults beyond chance, by {tried}; bife tune tries more."
    return f"{tuning.sentence} {keep(tuning.configuration, output)}"
