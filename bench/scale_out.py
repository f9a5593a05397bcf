"""Whether a run gives the same rules wherever its solves run, also when a worker is killed in the middle.

Runs the pipeline of the smoke preset, whose costs are nodes, once per runner, each in a home of its own with two
workers. With --kill, one worker process of the runner gets SIGKILL while it solves with a rule; the thread runner,
whose workers are solver processes, loses one of these. One JSON object a run: {runner, killed, digest, best, f_hf,
node_ratio, wall_s, notes}, then {identical}. `digest` covers decisions, every sample with both fidelities, and
the nodes of every held-out solve. Wall seconds hold the start of Prefect's embedded API and of the cluster.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

import psutil

from bench import parser_of, tell

RUNNERS = ("thread", "process", "dask", "ray")
WORKERS = 2
_PROCESS_OF = {
    "thread": "bife_core.sandbox.worker",
    "process": "spawn_main",
    "dask": "spawn_main",
    "ray": "ray::perform",
}
_SOLVER = "bife_core.sandbox.worker"
_KILL_LIMIT_S = 30.0


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--runners", nargs="+", choices=RUNNERS, default=list(RUNNERS))
    parser.add_argument("--kill", action="store_true", help="kill a worker in the middle of each run")
    parser.add_argument("--inside", choices=RUNNERS, help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        tell(once(options.inside, options.kill, options.address))
        return
    digests: set[str] = set()
    killed = 0
    for runner in options.runners:
        found = in_own_home(runner, options.kill)
        digests.add(found["digest"])
        killed += found["killed"]
        tell(found)
    tell({"identical": len(digests) == 1})
    if len(digests) > 1:
        sys.exit("The runners found different rules.")
    if options.kill and killed < len(options.runners):
        sys.exit("Not every run lost a worker.")


def in_own_home(runner: str, kill: bool) -> dict[str, Any]:
    """Run the pipeline in a process and a home of its own and return what it found."""
    with tempfile.TemporaryDirectory(prefix="bife-scale-") as home:
        return in_home(home, runner, *(["--kill"] if kill else []))


def in_home(home: str, runner: str, *options: str) -> dict[str, Any]:
    """Run the pipeline in a process of its own from a home and return what it found."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MLFLOW_")}
    environment |= {"BIFE_HOME": home, "RAY_USAGE_STATS_ENABLED": "0"}
    command = [sys.executable, "-m", "bench.scale_out", "--inside", runner, *options]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def once(runner: str, kill: bool, address: str | None = None) -> dict[str, Any]:
    """Run the pipeline here, on the cluster at an address if there is one."""
    from bife_core.presets import preset, with_overrides
    from flows.operate.running import run
    from flows.pipeline import pipeline
    from flows.reporting.observer import Observer
    from tasks.workers import close_workers

    killed: list[int] = []
    killers: list[threading.Thread] = []

    class Killer(Observer):
        def activity(self, text: str) -> None:
            if kill and text.startswith("solving") and not killers:
                killers.append(threading.Thread(target=lambda: killed.append(kill_one(runner))))
                killers[0].start()

    where = {"runner.kind": runner, "runner.address": address, "runner.workers": WORKERS}
    config = with_overrides(preset("smoke"), where)
    began = time.monotonic()
    result = run(Killer(), pipeline, config)
    wall_s = time.monotonic() - began
    close_workers()
    for killer in killers:
        killer.join()
    evolved, evaluated = result.evolution, result.evaluation
    assert evolved.best is not None
    assert evaluated is not None
    assert evolved.decisions is not None
    samples = json.loads((evolved.folder / "samples.json").read_text())
    facts = {
        "decisions": evolved.decisions.digest,
        "samples": [[row[name] for name in ("id", "sha", "f_lf", "f_hf")] for row in samples],
        "nodes": [[row["instance"], row["method"], row["nodes"]] for row in evaluated.summary.rows],
    }
    return {
        "runner": runner,
        "killed": len(killed),
        "digest": hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16],
        "best": evolved.best.id,
        "f_hf": evolved.best.f_hf,
        "node_ratio": round(evaluated.summary.lead.node_ratio, 4),
        "wall_s": round(wall_s, 1),
        "notes": len(result.notes),
    }


def kill_one(runner: str) -> int:
    """Kill one worker process that is solving at this moment, and return its id."""
    deadline = time.monotonic() + _KILL_LIMIT_S
    while time.monotonic() < deadline:
        for process in psutil.Process().children(recursive=True):
            try:
                if _PROCESS_OF[runner] in " ".join(process.cmdline()) and solves(process):
                    os.kill(process.pid, signal.SIGKILL)
                    return process.pid
            except psutil.NoSuchProcess:
                continue
        time.sleep(0.01)
    raise AssertionError(f"No worker process of {runner} was found at work.")


def solves(process: psutil.Process) -> bool:
    """Whether a process, or one of those below it, is a solver at work."""
    family = [process, *process.children(recursive=True)]
    return any(_SOLVER in " ".join(one.cmdline()) and one.status() == psutil.STATUS_RUNNING for one in family)


if __name__ == "__main__":
    main()
