"""What a collection says when it recorded fewer decisions than it was to."""

from bife_core.run.presets import preset, with_overrides
from bife_core.run.stages.collect import collect


def test_fewer_decisions_are_said_with_what_more_would_take(runtime):
    few = {"collection.decisions": 1000, "collection.max_instances": 1}
    first, *_ = collect(with_overrides(preset("smoke"), few), runtime).notes
    assert " of 1,000 decisions could be recorded on 1 instance; " in first
    assert first.endswith("a higher collection.max_instances than 1 would give more.")
