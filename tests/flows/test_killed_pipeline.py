"""What is killed ends as what nobody disturbed; ``make chaos`` kills 25 times, in all stages."""

import json
import random
import shutil

import pytest

from tests.chaos import remains
from tests.chaos.campaign import Tally, disturbed

SMOKE = ("run", "--preset", "smoke")


def ends_alike(smoke, home, stages, *command):
    """Kill a command once in each stage, run it to its end, and compare that with the run all tests of flows share."""
    evolution = smoke.result.evolution
    rows = json.loads((evolution.folder / "samples.json").read_text())
    durations_s = {"collection": 2.0, "evolution": 4.0}
    tally = Tally()
    left = disturbed(stages, durations_s, command, random.Random(3), tally, home)
    assert left is not None, tally.reasons
    assert sum(tally.kills.values()) == len(stages)
    assert (tally.solves_repeated, tally.lost, left.doubled_points) == (0, 0, 0)
    assert left.key == evolution.key
    assert left.population == [{name: row[name] for name in left.population[0]} for row in rows]
    assert left.best_rule == evolution.best_rule.read_text()
    runs = remains.tracked(home, left.key)
    assert set(runs) == {"", *(row["id"] for row in rows)}
    assert set(runs.values()) == {1}
    assert {name for name, _, status in left.runs if status not in ("FINISHED", "FAILED")} == set()
    return left


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_killed_evolution_ends_like_an_undisturbed_one(smoke, home, databases, tmp_path):
    for paid in ("instances", "decisions"):
        shutil.copytree(home / paid, tmp_path / paid)
    ends_alike(smoke, databases(tmp_path), ("evolution",), "evolve", "--preset", "smoke")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_killed_pipeline_ends_like_an_undisturbed_one(smoke, tmp_path):
    left = ends_alike(smoke, tmp_path, ("collection", "evolution"), "run", "--preset", "smoke")
    assert left.versions == 1
