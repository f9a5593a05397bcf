"""Time to compile a rule and to score it on recorded decisions.

One JSON object for each measure of F_LF on random decisions: {measure, decisions, candidates, ms, compile_ms, ...},
medians over the reference rules. With `--file` on recorded ones, and for each reference rule {rule, any_best,
first_best}: its top-1 accuracy where every candidate of the best expert score is right, and where the first alone is.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from bench import emit, parse, rounded
from bife_core import FEATURES, CompiledRule, Decisions, Rejection, compile_rule
from bife_core.extend import MEASURES, REFERENCE_RULES, chosen_rows
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
    options = parse(__doc__, decisions=1000, candidates=100, file=None)
    data = (
        Decisions.load(Path(options.file)) if options.file else made_up(options.decisions, options.candidates)
    )
    rules: list[CompiledRule] = []
    compile_ms: list[float] = []
    for name, reference in REFERENCE_RULES.items():
        started = time.process_time()
        rule = compile_rule(reference.source, name=name)
        compile_ms.append(1e3 * (time.process_time() - started))
        assert not isinstance(rule, Rejection), rule
        rules.append(rule)
    if options.file:
        first = np.zeros(data.n_candidates)
        first[chosen_rows(data.scores, data.offsets)] = 1.0
        for rule in rules:
            chosen = chosen_rows(scores_of(rule, data), data.offsets)
            right = {"any_best": Yardstick(data).f_lf(chosen), "first_best": first[chosen].mean()}
            emit({"rule": rule.name} | rounded(right))
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
