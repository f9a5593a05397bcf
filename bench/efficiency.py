"""Parallel efficiency of F_HF: the same solves by one worker and by two, and what this machine allows at best.

A batch of F_HF, some rules that solve the same design instances, is run in turn by BiFE with 1 worker, by BiFE with 2,
and by plain processes (`multiprocessing`: no walls, no slots, no store) that make the same solves, 1 and 2 of them, in
rounds. The efficiency of 2 workers is the wall time of one over twice that of two. Both lose the time in which one
worker waits for the other's last solve, and both share the machine's memory bandwidth, so the plain processes are the
ceiling of what any program reaches here.

One JSON object a round: {round, solves, bife_s: [one, two], plain_s, bife_cpu_s, plain_cpu_s}, then {efficiency,
plain_efficiency, of_ceiling, slower_together}. `slower_together` is how much longer the CPU time of
solves is when two run at once: memory bandwidth, not orchestration.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench import parser_of, tell
from bife_core.benchmarks.base import Instance
from bife_core.benchmarks.opening import open_benchmark
from bife_core.config import HighFidelityConfig, InstancesConfig, RunnerConfig
from bife_core.fidelity.high import score_high
from bife_core.methods.loading import load_method
from bife_core.rules import load_rule
from bife_core.sandbox import usable_cores
from bife_core.scip.solving import SolveSettings
from bife_core.solves import SolveJob, SolveStore
from bife_core.solves.jobs import work

RULES = ("paper_ca", "pseudocost_product", "paper_sc")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--instances", type=int, default=6, help="design instances")
    parser.add_argument("--size", default="test", help="of the auctions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bife-efficiency-") as home:
        os.environ["BIFE_HOME"] = home
        models = open_benchmark(InstancesConfig(size=options.size), Path(home) / "instances")
        instances = models.instances("design", options.instances)
        rounds = [one_round(number, instances) for number in range(options.rounds)]
    tell(summary(rounds))


def one_round(number: int, instances: Sequence[Instance]) -> dict[str, Any]:
    """Run the batch each way and print the wall times."""
    with_bife = [by_bife(instances, workers) for workers in (1, 2)]
    plainly = [by_plain_processes(instances, workers) for workers in (1, 2)]
    times = {
        "round": number,
        "solves": len(RULES) * len(instances),
        "bife_s": [round(wall_s, 2) for wall_s, _ in with_bife],
        "plain_s": [round(wall_s, 2) for wall_s, _ in plainly],
        "bife_cpu_s": [round(cpu_s, 2) for _, cpu_s in with_bife],
        "plain_cpu_s": [round(cpu_s, 2) for _, cpu_s in plainly],
    }
    tell(times)
    return times


def by_bife(instances: Sequence[Instance], workers: int) -> tuple[float, float]:
    """Return wall seconds of the batch as an evolution runs it, and the CPU seconds of its solves."""
    from tasks.workers import close_workers, worker_pool

    pool = worker_pool(RunnerConfig(workers=workers))
    batch = jobs(instances)
    # Worker processes start and compile once a run, not once a batch.
    first = [
        pool.submit(
            "bife_core.solves.jobs:work",
            batch[0].model_dump(mode="json"),
            limit_s=batch[0].limit_s,
            reads=[job.path for job in batch],
        )
        for _ in range(workers)
    ]
    for warmed in first:
        warmed.result()
    config = HighFidelityConfig(instances=len(instances), cost="nodes")
    with tempfile.TemporaryDirectory() as fresh, ThreadPoolExecutor(len(RULES)) as tasks:
        store = SolveStore(Path(fresh))

        def score(name: str) -> float:
            return score_high(load_rule(name).source, name, instances, config, pool, store).cpu_s

        began = time.monotonic()
        cpu_s = math.fsum(tasks.map(score, RULES))
        wall_s = time.monotonic() - began
    close_workers()
    return wall_s, cpu_s


def by_plain_processes(instances: Sequence[Instance], workers: int) -> tuple[float, float]:
    """Return wall seconds of the same solves in processes that do nothing else, and the CPU seconds of the solves."""
    batch = [job.model_dump(mode="json") for job in jobs(instances)]
    spawn = multiprocessing.get_context("spawn")
    cores = spawn.SimpleQueue()
    usable = usable_cores()
    for number in range(workers):
        cores.put(usable[number % len(usable)])
    with spawn.Pool(workers, initializer=warm, initargs=(cores, batch[0])) as pool:
        pool.map(ready, range(4 * workers), chunksize=1)
        began = time.monotonic()
        cpu_s = math.fsum(pool.imap_unordered(solve_one, batch))
        return time.monotonic() - began, cpu_s


def warm(cores: Any, job: dict[str, Any]) -> None:
    """Tie this process to a core of its own and let it compile."""
    os.sched_setaffinity(0, {cores.get()})
    solve_one(job)


def ready(_: int) -> None:
    """Return once this process is warm."""
    time.sleep(0.2)


def solve_one(job: dict[str, Any]) -> float:
    """Make one solve and return its CPU seconds."""
    return float(work(**job)["result"]["cpu_s"])


def jobs(instances: Sequence[Instance]) -> list[SolveJob]:
    """Return the solves of the batch, in the order BiFE queues them."""
    settings = SolveSettings(time_limit_s=HighFidelityConfig().time_limit_s)
    return [SolveJob.of(instance, load_method(rule), settings) for rule in RULES for instance in instances]


def summary(rounds: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the efficiencies over all rounds."""

    def total(name: str, workers: int) -> float:
        return math.fsum(times[name][workers - 1] for times in rounds)

    with_bife = total("bife_s", 1) / (2.0 * total("bife_s", 2))
    plainly = total("plain_s", 1) / (2.0 * total("plain_s", 2))
    return {
        "efficiency": round(with_bife, 3),
        "plain_efficiency": round(plainly, 3),
        "of_ceiling": round(with_bife / plainly, 3),
        "slower_together": round(total("plain_cpu_s", 2) / total("plain_cpu_s", 1), 3),
    }


if __name__ == "__main__":
    main()
