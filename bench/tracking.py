"""What telling MLflow of a generation costs as a search grows, on SQLite or the server that MLFLOW_TRACKING_URI names.

A search of `--candidates` rules by a model API, four a generation, is written to the store without being run; after
each generation MLflow is given what it lacks. One JSON object: {candidates, first_ms, last_ms, ratio, whole_s}, where
first and last are CPU milliseconds of this process for a generation, the median of ten at the beginning and at the end;
the first two generations, which make database and experiments, are left out.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from decimal import Decimal

from bench import parser_of, tell
from bife_core.fidelity.high import HighScore
from bife_core.fidelity.low import LowScore
from bife_core.generators import Attempt, Draft, Message, Spending
from bife_core.search import GenerationSummary, Sample, SampleRequest
from bife_core.study import Journal, Opened
from bife_core.study.files import write_samples
from bife_core.study.journal import Completed, Drafted, HighScored, Scored, Settled

WIDTH = 4
RULE = "def candidate_variable_score(variable_features) -> float:\n    return variable_features[18]\n"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--candidates", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bife-tracking-") as home:
        os.environ["BIFE_HOME"] = home
        tell(cost_by_generation(options.candidates))


def cost_by_generation(candidates: int) -> dict[str, float]:
    """Return what the first and the last generations of a search cost to track."""
    from tasks.home import prepare_environment

    folder = prepare_environment().runs / "grown"
    from tasks.stores import home_store
    from tasks.tracking import EvolutionRun  # reads the environment

    opened = Opened(key="grown", name="a search that grows", prompts=True)
    journal = Journal(folder, opened, store=home_store())
    journal.start()
    projection = EvolutionRun("grown")
    spent: list[float] = []
    samples: list[Sample] = []
    for generation in range(candidates // WIDTH):
        samples += _add_generation(journal, generation)
        write_samples(folder, samples)
        began = time.process_time()
        assert not projection.sync()
        spent.append(time.process_time() - began)
    first, last = (1000 * statistics.median(some) for some in (spent[2:12], spent[-10:]))
    return {
        "candidates": len(samples),
        "first_ms": round(first, 1),
        "last_ms": round(last, 1),
        "ratio": round(last / first, 2),
        "whole_s": round(sum(spent), 1),
    }


def _add_generation(journal: Journal, generation: int) -> list[Sample]:
    """Write down a generation of rules with all that a search finds out of them."""
    made = []
    for position in range(WIDTH):
        name = f"g{generation:03d}-c{position:02d}"
        attempt = Attempt(
            started_unix_s=1_700_000_000.0,
            seconds=5.0,
            status="ok",
            answer=RULE,
            prompt_tokens=3000,
            completion_tokens=300,
            cost_usd=Decimal("0.01"),
        )
        prompt = (Message(role="user", content="Write a rule. " * 500),)
        draft = Draft(
            key=name, generator="openai", model="none", messages=prompt, attempts=(attempt,), source=RULE
        )
        request = SampleRequest(id=name, generation=generation, operator="e1", seed=1)
        journal.add(Drafted(request=request, draft=draft))
        journal.add(Scored(id=name, score=LowScore(f_lf=0.5, sha=name, seconds=0.5)))
        journal.add(HighScored(id=name, score=HighScore(f_hf=-2.0, cpu_s=3.0)))
        sample = Sample(
            id=name, generation=generation, operator="e1", sha=name, source=RULE, f_lf=0.5, f_hf=-2.0
        )
        journal.add(Settled(sample=sample))
        made.append(sample)
    total = WIDTH * (generation + 1)
    summary = GenerationSummary(
        generation=generation, samples=WIDTH, failures=0, solved=WIDTH, samples_total=total, failures_total=0
    )
    journal.add(
        Completed(
            summary=summary,
            spending=Spending(calls=total),
            mean_f_hf=-2.0,
            solved=total,
            solve_cpu_s=3.0 * total,
        )
    )
    return made


if __name__ == "__main__":
    main()
