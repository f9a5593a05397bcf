"""What orchestration costs: CPU seconds of flows, tasks and tracking beside those of the work itself.

Runs the pipeline of a preset once in a home of its own and counts CPU time, which a busy machine does not stretch as it
does wall time. `work` is the CPU time of the processes that collect, score and solve, `flow` that of the process that
holds the flow with its tasks, MLflow and figures, from the first flow on (imports are a start-up cost, given apart),
`server` that of Prefect's embedded API. Then, on the paths alone: the milliseconds of a call to a worker, by runner.

One JSON object: {preset, candidates, solves, work_s, flow_s, server_s, import_s, share, ms_a_candidate, ms_a_solve} and
one {runner, ms_a_call, workers} a runner. `share` is flow_s over work_s.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time

import psutil

CALLS = 100


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", choices=("smoke", "quick"), default="smoke")
    parser.add_argument("--runners", nargs="*", default=["thread", "process"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bife-orchestration-") as home:
        os.environ["BIFE_HOME"] = home
        pipeline_cost(options.preset)
        for runner in options.runners:
            call_cost(runner)


def pipeline_cost(preset_name: str) -> None:
    """Print what a run costs beside its work."""
    from bife_core.config import preset
    from flows.pipeline import pipeline
    from flows.running import run
    from tasks.workers import close_workers

    import_s = time.process_time()
    config = preset(preset_name)  # type: ignore[arg-type]
    watched = Children()
    result = run(None, pipeline, config)
    flow_s = time.process_time() - import_s
    work_s, server_s = watched.stop()
    close_workers()
    evaluated = result.evaluation
    assert evaluated is not None
    solves = result.evolution.cost.solved * config.high.instances + len(evaluated.summary.rows)
    candidates = result.evolution.samples
    print(
        json.dumps(
            {
                "preset": preset_name,
                "candidates": candidates,
                "solves": solves,
                "work_s": round(work_s, 2),
                "flow_s": round(flow_s, 2),
                "server_s": round(server_s, 2),
                "import_s": round(import_s, 2),
                "share": round(flow_s / work_s, 4),
                "ms_a_candidate": round(1e3 * flow_s / candidates, 1),
                "ms_a_solve": round(1e3 * flow_s / solves, 1),
            }
        ),
        flush=True,
    )


class Children:
    """Adds up the CPU time of child processes, those that ended meanwhile included."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[bool, float]] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> tuple[float, float]:
        """Return the CPU seconds of workers, and of all other children."""
        self._look()
        self._stopped.set()
        self._thread.join()
        work = sum(spent for worker, spent in self._seen.values() if worker)
        return work, sum(spent for worker, spent in self._seen.values() if not worker)

    def _watch(self) -> None:
        while not self._stopped.wait(0.5):
            self._look()

    def _look(self) -> None:
        for child in psutil.Process().children(recursive=True):
            try:
                times = child.cpu_times()
                worker = "bife_core.sandbox.worker" in " ".join(child.cmdline())
            except psutil.NoSuchProcess:
                continue
            self._seen[child.pid] = (worker, times.user + times.system)


def call_cost(runner: str) -> None:
    """Print what a call to a worker costs on a runner."""
    from bife_core.config import RunnerConfig
    from tasks.workers import close_workers, worker_pool

    pool = worker_pool(2, RunnerConfig(kind=runner))  # type: ignore[arg-type]
    echo = "bife_core.sandbox.selftest:echo"
    for _ in range(2):  # processes start in the first round
        began = time.perf_counter()
        futures = [pool.submit(echo, {"value": number}, limit_s=120) for number in range(CALLS)]
        for future in futures:
            future.result()
        wall_s = time.perf_counter() - began
    close_workers()
    print(
        json.dumps({"runner": runner, "ms_a_call": round(1e3 * wall_s / CALLS, 2), "workers": pool.workers}),
        flush=True,
    )


if __name__ == "__main__":
    main()
