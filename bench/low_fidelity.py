"""Time to compile a rule and to score it on recorded decisions.

One JSON object for each measure of F_LF on random decisions: {measure, decisions, candidates, ms, compile_ms, ...},
medians over the reference rules.
"""

from __future__ import annotations

import time

import numpy as np

from bench import emit, parse, rounded
from bife_core import FEATURES, CompiledRule, Decisions, Rejection, compile_rule
from bife_core.extend import MEASURES, REFERENCE_RULES
from bife_core.measure.choices import Yardstick, scores_of


def made_up(decisions: int, candidates: int) -> Decisions:
    rng = np.random.default_rng(0)
    rows = decisions * candidates
    zeros = np.zeros(decisions, dtype=np.int64)
    gains = rng.exponential(size=(2, rows))
    return Decisions(
        columns=rng.exponential(size=(len(FEATURES), rows)),
        scores=gains.prod(axis=0),
        gains=gains,
        offsets=np.arange(0, rows + 1, candidates, dtype=np.int64),
        probindex=np.zeros(rows, dtype=np.int32),
        node=zeros,
        depth=zeros,
        room=np.full(decisions, np.inf),
        instance=("made up",) * decisions,
    )


def main() -> None:
    options = parse(__doc__, decisions=1000, candidates=100)
    data = made_up(options.decisions, options.candidates)
    rules: list[CompiledRule] = []
    compile_ms: list[float] = []
    for name, reference in REFERENCE_RULES.items():
        started = time.process_time()
        rule = compile_rule(reference.source, name=name)
        compile_ms.append(1e3 * (time.process_time() - started))
        assert not isinstance(rule, Rejection), rule
        rules.append(rule)
    for measure in MEASURES:
        yardstick = Yardstick(data, measure)
        score_ms = []
        for rule in rules:
            times = []
            for _ in range(10):
                started = time.process_time()
                scores = scores_of(rule, data)
                yardstick.of_scores(scores)
                times.append(1e3 * (time.process_time() - started))
            score_ms.append(float(np.median(times[1:])))
        line = {"measure": measure, "decisions": len(data), "candidates": data.n_candidates}
        line |= rounded({"ms": np.median(score_ms), "ms_worst": max(score_ms)}, 2)
        emit(line | rounded({"compile_ms": np.median(compile_ms)}, 1) | {"rules": len(rules)})


if __name__ == "__main__":
    main()
