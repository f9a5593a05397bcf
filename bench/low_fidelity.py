"""Time to compile a rule and to score it on recorded decisions.

Decisions are made up to scale: the given number of decisions with the given number of candidates each, features
drawn at random (the time does not depend on their values). One JSON object a line:
{decisions, candidates, ms, compile_ms, ...}: medians over the reference rules of CPU milliseconds.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from bench.options import parse
from bife_core.decisions.recorded import Decisions
from bife_core.features import N_FEATURES
from bife_core.fidelity.low import low_fidelity
from bife_core.rules import REFERENCE_RULES, Rejection, compile_rule


def made_up(decisions: int, candidates: int) -> Decisions:
    rng = np.random.default_rng(0)
    rows = decisions * candidates
    zeros = np.zeros(decisions, dtype=np.int64)
    return Decisions(
        rng.exponential(size=(N_FEATURES, rows)),
        rng.exponential(size=rows),
        np.arange(0, rows + 1, candidates, dtype=np.int64),
        np.zeros(rows, dtype=np.int32),
        zeros,
        zeros,
        ("made up",) * decisions,
    )


def main() -> None:
    options = parse(__doc__, decisions=1000, candidates=100, file=None)
    data = (
        Decisions.load(Path(options.file)) if options.file else made_up(options.decisions, options.candidates)
    )
    score_ms: dict[str, float] = {}
    compile_ms: dict[str, float] = {}
    for name, reference in REFERENCE_RULES.items():
        started = time.process_time()
        rule = compile_rule(reference.source, name=name)
        compile_ms[name] = 1e3 * (time.process_time() - started)
        assert not isinstance(rule, Rejection), rule
        low_fidelity(rule, data)
        times = []
        for _ in range(9):
            started = time.process_time()
            low_fidelity(rule, data)
            times.append(1e3 * (time.process_time() - started))
        score_ms[name] = float(np.median(times))
    print(
        json.dumps(
            {
                "decisions": len(data),
                "candidates": data.n_candidates,
                "ms": round(float(np.median(list(score_ms.values()))), 2),
                "ms_worst": round(max(score_ms.values()), 2),
                "compile_ms": round(float(np.median(list(compile_ms.values()))), 1),
                "rules": len(score_ms),
            }
        )
    )


if __name__ == "__main__":
    main()
