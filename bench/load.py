"""How much F_HF of one unchanged rule moves with the load of the machine, by what it is corrected with.

The family's reference rule is measured by turns alone and beside busy loops, instance by instance, between two runs of
a fixed kernel (random reads through 16 MB), and RPB after it. With `--memory-mb 64` each loop copies that much, as
solvers do. One JSON object a line: {family, rule, loops, memory_mb, round, raw, root, kernel, rpb}: CPU seconds beside
the loops over those without, as they are, over RPB's time at the root (what F_HF counts), the kernel's and RPB's.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt

from bench import PUBLISHED, benchmark_of, emit, parse, rounded
from bife_core import Method, PipelineConfig, Store, WorkerPool, load_method
from bife_core.extend import RPB, Instance, SolverConfig
from bife_core.measure.context import Reference, SolveContext, measure_reference
from bife_core.measure.high import HighScore, score_high

COUNTING = "while True: pass"
MEMORY_LOOP = """
import numpy as np
there = np.zeros({mb} << 17)
back = there.copy()
while True:
    back[:] = there
    there[:] = back
"""


@contextmanager
def busy(loops: int, memory_mb: int) -> Iterator[None]:
    """Keep the machine busy with so many endless loops, each through so much memory if any."""
    program = MEMORY_LOOP.format(mb=memory_mb) if memory_mb else COUNTING
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def kernel_s(order: npt.NDArray[np.int64]) -> float:
    started = time.process_time()
    place = order
    for _ in range(4):
        place = order[place]
    return time.process_time() - started


def costs(
    rule: Method, instances: Sequence[Instance], solving: SolveContext, reference: Reference
) -> dict[str, float]:
    """Measure F_HF anew, and return minus its value by what it is corrected with."""
    order = np.random.default_rng(0).permutation(1 << 21)
    by_kernel, by_rpb = [], []
    with tempfile.TemporaryDirectory() as fresh:
        anew = replace(solving, store=Store(Path(fresh)))
        for instance in instances:
            before = kernel_s(order)
            seconds = raw_s(score_high(rule, [instance], anew))
            by_kernel.append(2.0 * seconds / (before + kernel_s(order)))
            by_rpb.append(seconds / raw_s(score_high(load_method(RPB), [instance], anew)))
        score = score_high(rule, instances, anew, reference=reference)  # of the same solves
    root = math.inf if score.f_hf is None else -score.f_hf
    return {"raw": raw_s(score), "root": root, "kernel": fmean(by_kernel), "rpb": fmean(by_rpb)}


def raw_s(score: HighScore) -> float:
    return math.inf if score.raw_f_hf is None else -score.raw_f_hf


def main() -> None:
    options = parse(
        __doc__, instances=8, solver="default", rule=None, loops=4, memory_mb=0, rounds=2, workers=1
    )
    limits = {"instances": options.instances, "time_limit_s": 300.0}
    config = PipelineConfig.model_validate({"high": limits}).high
    with WorkerPool(options.workers) as pool, tempfile.TemporaryDirectory() as kept:
        solving = SolveContext(config, SolverConfig.model_validate(options.solver), pool, Store(Path(kept)))
        for family in options.families:
            rule = load_method(options.rule or PUBLISHED[family])
            instances = list(benchmark_of(family, options).instances("design", options.instances))
            reference = measure_reference(instances, solving)
            costs(rule, instances, solving, reference)  # warms the worker up
            for number in range(options.rounds):
                quiet = costs(rule, instances, solving, reference)
                with busy(options.loops, options.memory_mb):
                    loaded = costs(rule, instances, solving, reference)
                line = {"family": family, "rule": rule.name, "loops": options.loops}
                line |= {"memory_mb": options.memory_mb, "round": number}
                emit(line | rounded({name: loaded[name] / of for name, of in quiet.items()}, 4))


if __name__ == "__main__":
    main()
