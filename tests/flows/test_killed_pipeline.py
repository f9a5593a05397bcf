"""What is killed ends as what nobody disturbed; ``make chaos`` kills 25 times, in all stages."""

import json
import random

import pytest

from tests.chaos import remains
from tests.chaos.campaign import Tally, disturbed


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_pipeline_killed_once_in_each_stage_ends_like_an_undisturbed_one(smoke, tmp_path):
    search = smoke.result.search
    rows = json.loads((search.folder / "samples.json").read_text())
    stages, durations_s, tally = ("collection", "search"), {"collection": 2.0, "search": 4.0}, Tally()
    left = disturbed(stages, durations_s, ("run", "--preset", "smoke"), random.Random(3), tally, tmp_path)
    assert left is not None, tally.reasons
    assert sum(tally.kills.values()) == len(stages)
    assert (tally.solves_repeated, tally.lost, left.doubled_points, left.versions) == (0, 0, 0, 1)
    assert left.key == search.key
    assert left.population == [{name: row[name] for name in left.population[0]} for row in rows]
    assert left.best_rule == search.best_rule.read_text()
    runs = remains.tracked(tmp_path, left.key)
    assert set(runs) == {"", *(row["id"] for row in rows)}
    assert set(runs.values()) == {1}
    assert {name for name, _, status in left.runs if status not in ("FINISHED", "FAILED")} == set()
