"""What orchestration costs: CPU seconds of flows, tasks and tracking beside those of the work itself.

Runs the pipeline of a preset once in a home of its own. `work` is the CPU time of the processes that collect, score
and solve, `flow` that of the process with the flow, its tasks and MLflow, of which `figures` and `models` are work
(reports, instances), `server` that of Prefect's embedded API, and `start` what both cost before the first flow.

One JSON object: {preset, samples, solves, work_s, models_s, figures_s, flow_s, server_s, start_s, share, ms_a_sample,
ms_a_solve, flow_s_by_stage}; `share` is of flow_s and server_s over the work.
"""

from __future__ import annotations

import math
import os
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import psutil

from bench import emit, parser_of, rounded
from bife_core import PipelineConfig, open_benchmark, preset
from bife_core.extend import Benchmark, home


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--preset", choices=("smoke", "quick"), default="smoke")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bife-orchestration-") as home:
        os.environ["BIFE_HOME"] = home
        pipeline_cost(options.preset)


def pipeline_cost(preset_name: str) -> None:
    from bife_core.run.observer import Observer
    from bife_core.run.stages import evaluation_files
    from bife_core.run.study import files as search_files
    from bife_core.workers.cluster import close_workers
    from bife_flows.operate.running import ready, start_embedded_api
    from bife_flows.stages import pipeline
    from bife_tasks.tracking.mlflow_runs import client

    class Stages(Observer):
        def __init__(self) -> None:
            self.begun: list[tuple[str, float]] = []

        def stage(self, name: str, about: str) -> None:
            self.begun.append((name, time.process_time()))

        def spent(self) -> dict[str, float]:
            ends = [at for _, at in self.begun[1:]] + [time.process_time()]
            return {name: end - begun for (name, begun), end in zip(self.begun, ends, strict=True)}

    import_s = time.process_time()
    config = preset(preset_name)  # type: ignore[arg-type]
    client()
    start_embedded_api()
    drawing, modelling = Meter(), Meter()
    generated = draw_models(config)
    generated.instances = modelling.timed(generated.instances)  # type: ignore[method-assign]
    search_files.write_outcome = drawing.timed(search_files.write_outcome)
    evaluation_files.write_report = drawing.timed(evaluation_files.write_report)
    watched, stages = Children(), Stages()
    began_s, began_wall_s = time.process_time(), time.monotonic()
    result = ready(stages)(pipeline)(config)
    by_stage, wall_s = stages.spent(), time.monotonic() - began_wall_s
    work_s, server_s = watched.stop()
    flow_s = time.process_time() - began_s - watched.own_s - drawing.spent_s - modelling.spent_s
    close_workers()
    evaluated = result.evaluation
    assert evaluated is not None
    solves = result.search.cost.solved * config.high.instances + len(evaluated.summary.rows)
    samples = len(result.search.samples)
    seconds = {
        "work_s": work_s,
        "models_s": modelling.spent_s,
        "figures_s": drawing.spent_s,
        "flow_s": flow_s,
    }
    seconds |= {"server_s": server_s, "start_s": import_s + watched.before_s, "wall_s": wall_s}
    share = (flow_s + server_s) / (work_s + drawing.spent_s + modelling.spent_s)
    each = {"ms_a_sample": 1e3 * by_stage["search"] / samples, "ms_a_solve": 1e3 * flow_s / solves}
    counts = {"preset": preset_name, "samples": samples, "solves": solves}
    measured = counts | rounded(seconds, 2) | rounded({"share": share}, 4) | rounded(each, 1)
    emit(measured | {"flow_s_by_stage": rounded(by_stage, 2)})


def draw_models(config: PipelineConfig) -> type[Benchmark]:
    """Draw the run's instances, which its process would do before it hands out any; return the benchmark's class."""
    benchmark = open_benchmark(config.instances, home() / "instances")
    collected = min(config.collection.max_instances, config.collection.decisions)
    wanted = {"collection": collected, "design": config.high.instances}
    wanted |= {"validation": config.validation.instances, "test": config.evaluation.instances}
    for split, count in wanted.items():
        benchmark.instances(split, min(count, 30))  # type: ignore[arg-type]
    return type(benchmark)


class Meter:
    """Adds up the CPU time of the threads that are in some functions."""

    def __init__(self) -> None:
        self.spent_s = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time added up."""

        def call(*arguments: Any, **named: Any) -> Any:
            began_s = time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                self.spent_s += time.thread_time() - began_s

        return call


class Children:
    """Adds up the CPU time of child processes, those that ended meanwhile included; `own_s` is what that takes."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[bool, float]] = {}
        self.own_s = 0.0
        self._look()
        self.before_s = math.fsum(spent for _, spent in self._seen.values())
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> tuple[float, float]:
        """Return the CPU seconds of workers, and of all other children."""
        self._stopped.set()
        self._thread.join()
        work = sum(spent for worker, spent in self._seen.values() if worker)
        others = sum(spent for worker, spent in self._seen.values() if not worker)
        return work, others - self.before_s

    def _watch(self) -> None:
        while not self._stopped.wait(1.0):
            self._look()
        self._look()
        self.own_s = time.thread_time()

    def _look(self) -> None:
        for child in psutil.Process().children(recursive=True):
            try:
                times = child.cpu_times()
                worker = "bife_core.workers.worker" in " ".join(child.cmdline())
            except psutil.NoSuchProcess:
                continue
            self._seen[child.pid] = (worker, times.user + times.system)


if __name__ == "__main__":
    main()
