"""Whole examples: models of a modelling layer, tuned on its files, then solved by their own code with what was found.

    make layers                                              # installs the layers, and tries each example
    python -m bench.layers.pyomo_locations --seconds 120

Prints {model, cpu_s, plain_cpu_s, nodes, objective} for each model that was not tuned on, then {ratio, ci_low, ci_high}
of the CPU time of the layer's own call, translation included, to that with SCIP default settings.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import emit, interval_of, parser_of, tuned
from bife_core import used


def example(
    about: str | None,
    build: Callable[[int], Any],
    write: Callable[[Any, Path], object],
    solve: Callable[[Any], float],
) -> None:
    """Tune on files of the models that `build` makes of seeds, and compare `solve`, which returns the objective."""
    parser = parser_of(about)
    parser.add_argument("--tuned", type=int, default=8, help="models whose files are tuned on")
    parser.add_argument("--solved", type=int, default=12, help="other models that are solved")
    parser.add_argument("--seconds", type=float, default=120.0, help="CPU seconds of `bife tune`")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        files = Path(folder) / "files"
        files.mkdir()
        for seed in range(options.tuned):
            write(build(seed), files / f"{seed:02}.lp")
        _, reference = tuned(files, files.with_suffix(".set"), options.seconds)
        logs = [compared(seed, build, solve, reference) for seed in range(1000, 1000 + options.solved)]
    emit(interval_of(logs))


def compared(seed: int, build: Callable[[int], Any], solve: Callable[[Any], float], reference: Path) -> float:
    """Solve a model with SCIP default settings and with what was found, in turns; return the logarithm of the ratio."""
    cpu_s, objectives, nodes = {"plain": 0.0, "with it": 0.0}, list[float](), 0
    for way in sorted(cpu_s, reverse=bool(seed % 2)):
        model = build(seed)
        if way == "plain":
            cpu_s[way] = timed(solve, model, objectives)
            continue
        with used(reference) as uses:
            cpu_s[way] = timed(solve, model, objectives)
        nodes = uses.nodes
    if not math.isclose(*objectives, rel_tol=1e-5):
        raise SystemExit(f"model {seed}: the objectives {objectives[0]} and {objectives[1]} differ.")
    row = {"model": seed, "cpu_s": round(cpu_s["with it"], 2), "plain_cpu_s": round(cpu_s["plain"], 2)}
    emit(row | {"nodes": nodes, "objective": objectives[0]})
    return math.log(cpu_s["with it"] / cpu_s["plain"])


def timed(solve: Callable[[Any], float], model: Any, objectives: list[float]) -> float:
    """Return the CPU seconds of a solve, and enter its objective."""
    started = time.process_time()
    objectives.append(solve(model))
    return time.process_time() - started
