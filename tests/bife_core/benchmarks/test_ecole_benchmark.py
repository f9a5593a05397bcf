"""Instances drawn by Ecole: the same every time where it imports, a sentence where it does not."""

from __future__ import annotations

import importlib.util

import pytest

from bife_core.benchmarks.generated import INSTALL, open_benchmark
from bife_core.benchmarks.screening import screen
from bife_core.config import InstancesConfig
from bife_core.errors import ConfigError

PRESENT = importlib.util.find_spec("ecole") is not None


DRAWN = ["combinatorial_auction", "facility_location", "independent_set", "set_covering"]


@pytest.mark.parametrize("family", DRAWN)
def test_each_family_is_drawn_where_ecole_imports(family, tmp_path):
    config = InstancesConfig(benchmark=family, drawn_by="ecole")
    if not PRESENT:
        with pytest.raises(ConfigError, match="Ecole cannot be imported") as error:
            open_benchmark(config, tmp_path)
        assert INSTALL in str(error.value)
        assert not list(tmp_path.iterdir())
        return
    first, second = (open_benchmark(config, tmp_path / part).instances("test", 2) for part in "ab")
    assert [instance.digest for instance in first] == [instance.digest for instance in second]
    assert first[0].digest != first[1].digest
    screen(first[0].path)


def test_parameters_ecole_does_not_know_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="Ecole cannot draw facility_location of size 'tiny'"):
        open_benchmark(
            InstancesConfig(benchmark="facility_location", size="tiny", drawn_by="ecole"), tmp_path
        )


def test_families_ecole_does_not_have_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"Ecole cannot draw item_placement; it knows set_covering, "):
        open_benchmark(InstancesConfig(benchmark="item_placement", drawn_by="ecole"), tmp_path)


def test_a_folder_is_not_drawn(tmp_path):
    with pytest.raises(ValueError, match="goes with a family"):
        InstancesConfig(benchmark="folder", folder=tmp_path, drawn_by="ecole")
