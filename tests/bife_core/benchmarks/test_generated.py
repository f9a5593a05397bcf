from __future__ import annotations

from dataclasses import replace

import pytest
from numpy.random import RandomState

from bife_core.benchmarks.config import FAMILIES
from bife_core.benchmarks.generated import GeneratedBenchmark, instance_stream
from bife_core.errors import ConfigError


@pytest.fixture
def benchmark(tmp_path):
    return GeneratedBenchmark(FAMILIES["set_covering"], "tiny", seed=0, cache_dir=tmp_path)


def test_streams_are_frozen():
    """Instances of published runs must be the same next year."""
    stream = instance_stream("set_covering", "test", "design", 0, seed=0)
    assert stream.rand() == 0.9276872432263092


def test_each_argument_changes_the_stream():
    base = {"benchmark": "a", "size": "test", "split": "design", "index": 0, "seed": 0}
    changes = [{}, {"benchmark": "b"}, {"size": "tiny"}, {"split": "test"}, {"index": 1}, {"seed": 1}]
    draws = {instance_stream(**{**base, **change}).rand() for change in changes}
    assert len(draws) == len(changes)


def test_kept_files_are_not_drawn_again(benchmark, monkeypatch):
    instances = benchmark.instances("design", 2)
    stamps = [i.path.stat().st_mtime_ns for i in instances]
    monkeypatch.setattr(GeneratedBenchmark, "model", lambda *_: pytest.fail("drawn again"))
    again = replace(benchmark).instances("design", 2)
    assert again == instances
    assert [i.path.stat().st_mtime_ns for i in again] == stamps


def test_other_parameters_do_not_meet_the_files_of_the_old_ones(benchmark):
    old = benchmark.instance("design", 0)
    sizes = {"tiny": {**benchmark.family.sizes["tiny"], "max_cost": 4}}
    new = replace(benchmark, family=replace(benchmark.family, sizes=sizes)).instance("design", 0)
    assert new.path != old.path
    assert new.digest != old.digest


def test_other_data_do_not_meet_the_files_of_the_old_ones(benchmark, tmp_path):
    table = tmp_path / "table.csv"
    paths = []
    for content in ("1", "2", "1"):
        table.write_text(content)
        family = replace(benchmark.family, data=(table,))
        paths.append(replace(benchmark, family=family).instance("design", 0).path)
    assert paths[0] == paths[2] != paths[1]


def test_a_family_may_name_what_an_instance_is_made_from(benchmark):
    family = replace(
        benchmark.family,
        generate=lambda place, **size: benchmark.family.generate(RandomState(place.index), **size),
        source=lambda place: place,
        count=lambda size, split: 2,
    )
    listed = replace(benchmark, family=family)
    assert len(listed.instances("design", 9)) == 2
    with pytest.raises(
        ConfigError, match="set_covering has 2 design instances of size 'tiny'; there is no number 2"
    ):
        listed.instance("design", 2)


def test_an_unknown_split_is_named_with_the_known_ones(benchmark):
    with pytest.raises(ConfigError, match=r"'train'.*collection, design, validation, test"):
        benchmark.instance("train", 0)
