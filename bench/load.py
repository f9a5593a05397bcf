"""How much F_HF of one unchanged rule moves with the load of the machine, raw and controlled.

RPB's solves of the design instances are the reference. Then the family's reference rule is measured by turns alone and
beside busy loops, each time anew. Loops that count leave a solver's caches alone; with `--memory-mb 64` each copies
that much to and fro, as other solvers do. One JSON object a line: {family, rule, loops, memory_mb, round, raw,
controlled}, where raw is the CPU seconds beside the loops over those without, and controlled the same of the seconds
that F_HF counts.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bench import benchmark_of, emit, parse
from bife_core.benchmarks.base import Instance
from bife_core.fidelity.config import HighFidelityConfig
from bife_core.fidelity.high import HighScore, score_high
from bife_core.fidelity.solving import Reference, Solving, measure_reference
from bife_core.methods.base import Method
from bife_core.methods.loading import load_method
from bife_core.rules import BENCHMARK_RULES
from bife_core.sandbox import WorkerPool
from bife_core.scip.solver import SolverConfig
from bife_core.store import Store

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


def score(
    rule: Method,
    instances: Sequence[Instance],
    solving: Solving,
    reference: Reference | None,
) -> HighScore:
    """Measure F_HF anew."""
    with tempfile.TemporaryDirectory() as fresh:
        anew = replace(solving, solves=Store(Path(fresh)))
        return score_high(rule, instances, anew, reference=reference)


def main() -> None:
    options = parse(
        __doc__, instances=8, solver="default", rule=None, loops=4, memory_mb=0, rounds=2, workers=1
    )
    config = HighFidelityConfig(instances=options.instances, time_limit_s=300.0)
    with WorkerPool(options.workers) as pool, tempfile.TemporaryDirectory() as kept:
        solving = Solving(config, SolverConfig.model_validate(options.solver), pool, Store(Path(kept)))
        for family in options.families:
            rule = load_method(options.rule or BENCHMARK_RULES[family])
            instances = list(benchmark_of(family, options).instances("design", options.instances))

            score(rule, instances, solving, None)  # warms the worker up
            reference = measure_reference(instances, solving)
            for number in range(options.rounds):
                quiet = score(rule, instances, solving, reference)
                with busy(options.loops, options.memory_mb):
                    loaded = score(rule, instances, solving, reference)
                line = {"family": family, "rule": rule.name, "loops": options.loops}
                line |= {"memory_mb": options.memory_mb, "round": number}
                found = {"raw": (loaded.raw_f_hf, quiet.raw_f_hf), "controlled": (loaded.f_hf, quiet.f_hf)}
                emit(line | {name: round((a or 0.0) / (b or 1.0), 4) for name, (a, b) in found.items()})


if __name__ == "__main__":
    main()
