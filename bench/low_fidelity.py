"""Time to compile a rule and to score it on recorded decisions.

Decisions are made up to scale: the given number of decisions with the given number of candidates each, features
drawn at random (the time does not depend on their values). One JSON object a line, one for each measure of F_LF:
{measure, decisions, candidates, ms, compile_ms, ...}: medians over the reference rules of CPU milliseconds. With
`--file` it is a file of recorded decisions, and each reference rule has a line {rule, any_best, first_best}: its top-1
accuracy where every candidate of the best expert score is right, as F_LF has it, and where the first of them alone is.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from bench import emit, parse
from bife_core.language.components import BRANCHING
from bife_core.language.rules import REFERENCE_RULES, CompiledRule, Rejection, compile_rule
from bife_core.measure.choices import Yardstick, chosen_rows, scores_of
from bife_core.measure.decisions.recorded import Decisions
from bife_core.measure.low_measures import MEASURES


def made_up(decisions: int, candidates: int) -> Decisions:
    rng = np.random.default_rng(0)
    rows = decisions * candidates
    zeros = np.zeros(decisions, dtype=np.int64)
    gains = rng.exponential(size=(2, rows))
    return Decisions(
        columns=rng.exponential(size=(BRANCHING.n_features, rows)),
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
            right = {"any_best": Yardstick(data).f_lf(chosen), "first_best": float(first[chosen].mean())}
            emit({"rule": rule.name} | {what: round(share, 3) for what, share in right.items()})
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
        emit(
            {
                "measure": measure,
                "decisions": len(data),
                "candidates": data.n_candidates,
                "ms": round(float(np.median(score_ms)), 2),
                "ms_worst": round(max(score_ms), 2),
                "compile_ms": round(float(np.median(compile_ms)), 1),
                "rules": len(rules),
            }
        )


if __name__ == "__main__":
    main()
