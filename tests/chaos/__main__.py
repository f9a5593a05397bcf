"""Kill pipelines at random moments and print, as one line of JSON, what that did: ``python -m tests.chaos``."""

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.campaign import Tally, compare, disturbed, undisturbed
from tests.chaos.program import STARTING
from tests.chaos.together import started_together

_ROUND = ("collection", "search", "search", "evaluation", "registration")
"""Stages one pipeline is killed in, one after the other, besides a kill before the first."""


def main():
    """Run all rounds and print the tally."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=25, help="kills in the four stages")
    parser.add_argument("--generator", default="openai", choices=["openai", "offline"])
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments")
    options = parser.parse_args()
    command = ("run", "--preset", "smoke", "--generator", options.generator)
    rng, tally, began_s = random.Random(options.seed), Tally(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bife-chaos-") as directory:
        reference = undisturbed(Path(directory), command, options.seed)
        print(f"undisturbed: {reference.durations_s}", file=sys.stderr, flush=True)
        for left_over in range(options.kills, 0, -len(_ROUND)):
            stages = (STARTING, *_ROUND[:left_over])
            with tempfile.TemporaryDirectory(prefix="bife-chaos-") as home:
                left = disturbed(stages, reference.durations_s, command, rng, tally, Path(home))
            if left is not None:
                compare(left, reference.remains, tally)
            print(vars(tally), file=sys.stderr, flush=True)
        together = started_together(reference, command, options.seed)
    facts = vars(tally) | {"started_together": together}
    print(json.dumps(facts | {"seed": options.seed, "wall_s": round(time.monotonic() - began_s)}))
    failed = tally.calls_paid_twice + tally.solves_repeated + tally.runs_doubled + tally.versions_doubled
    failed += (
        tally.lost + tally.populations_different + together["calls_paid_twice"] + together["runs_doubled"]
    )
    sys.exit(1 if failed or together["ended_well"] < 3 or not together["population_identical"] else 0)


if __name__ == "__main__":
    main()
