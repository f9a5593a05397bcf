"""A pipeline that is killed three times ends as one that nobody disturbed; ``make chaos`` kills 25 times."""

import json
import random

import pytest

from tests.chaos import remains
from tests.chaos.__main__ import rounds
from tests.chaos.campaign import Tally, disturbed

SMOKE = ("run", "--preset", "smoke")


def test_kills_are_dealt_to_pipelines_stage_by_stage():
    assert [stage for stages in rounds(7) for stage in stages] == [
        "starting",
        "collection",
        "evolution",
        "evolution",
        "evaluation",
        "registration",
        "starting",
        "collection",
        "evolution",
    ]
    assert sum(stage != "starting" for stages in rounds(25) for stage in stages) == 25


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_pipeline_ends_like_an_undisturbed_one(smoke, tmp_path):
    """The undisturbed one is the run all tests of flows share; it has MLflow to itself no more, this one has."""
    evolution = smoke.result.evolution
    rows = json.loads((evolution.folder / "samples.json").read_text())
    durations_s = {"collection": 2.0, "evolution": 4.0}
    tally = Tally()
    left = disturbed(("collection", "evolution"), durations_s, SMOKE, random.Random(3), tally, tmp_path)
    assert left is not None, tally.reasons
    assert sum(tally.kills.values()) == 2
    assert (tally.solves_repeated, tally.lost, left.doubled_points) == (0, 0, 0)
    assert left.key == evolution.key
    assert left.population == [{name: row[name] for name in left.population[0]} for row in rows]
    assert left.best_rule == evolution.best_rule.read_text()
    runs = remains.tracked(tmp_path, left.key)
    assert set(runs) == {"", *(row["id"] for row in rows)}
    assert set(runs.values()) == {1}
    assert left.versions == 1
    assert {name for name, _, status in left.runs if status not in ("FINISHED", "FAILED")} == set()
