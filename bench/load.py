"""How much F_HF of one unchanged rule moves with the load of the machine.

The family's reference rule is measured by turns alone and beside busy loops. With `--memory-mb 64` each loop copies
that much, as solvers do. One JSON object a line: {family, rule, loops, memory_mb, round, raw, root}: CPU seconds beside
the loops over those without, as they are and over RPB's time at the root, which is what F_HF counts.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bench import PUBLISHED, benchmark_of, context_of, emit, parse, rounded
from bife_core import Method, Store, WorkerPool, load_method
from bife_core.extend import Instance
from bife_core.measure.context import Reference, SolveContext, measure_reference
from bife_core.measure.high import score_high

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


def costs(
    rule: Method, instances: Sequence[Instance], solving: SolveContext, reference: Reference
) -> dict[str, float]:
    """Measure F_HF anew, and return minus its value as it is and by RPB's time at the root."""
    with tempfile.TemporaryDirectory() as fresh:
        score = score_high(rule, instances, replace(solving, store=Store(Path(fresh))), reference=reference)
    values = {"raw": score.raw_f_hf, "root": score.f_hf}
    return {name: math.inf if value is None else -value for name, value in values.items()}


def main() -> None:
    options = parse(
        __doc__, instances=8, solver="default", rule=None, loops=4, memory_mb=0, rounds=2, workers=1
    )
    limits = {"instances": options.instances, "time_limit_s": 300.0}
    with WorkerPool(options.workers) as pool, tempfile.TemporaryDirectory() as kept:
        solving = context_of(pool, Store(Path(kept)), options.solver, **limits)
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
