import pytest

from bife_core.base.errors import ConfigError
from bife_core.instances.config import FAMILIES
from bife_core.instances.folder import FolderBenchmark
from bife_core.instances.generated import GeneratedBenchmark, open_benchmark
from bife_core.run.config import InstancesConfig


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_opens_by_name(name, tmp_path):
    opened = open_benchmark(InstancesConfig(benchmark=name, size="tiny", seed=5), tmp_path)
    assert isinstance(opened, GeneratedBenchmark)
    assert (opened.name, opened.size, opened.seed, opened.notes) == (name, "tiny", 5, FAMILIES[name].notes)
    assert opened.instances("test", 1)[0].path.is_relative_to(tmp_path)


def test_a_folder_opens_by_path(tmp_path, foreign):
    (tmp_path / "lseu.mps").write_bytes((foreign / "lseu.mps").read_bytes())
    opened = open_benchmark(InstancesConfig(benchmark="folder", folder=tmp_path), tmp_path / ".cache")
    assert isinstance(opened, FolderBenchmark)
    assert opened.name == tmp_path.name
    assert opened.instances("test", 1)[0].path == tmp_path / "lseu.mps", "models stay where they are"


def test_an_unknown_size_is_named_with_the_known_ones(tmp_path):
    with pytest.raises(ConfigError, match=r"set_covering has no size 'huge'.*tiny, test, transfer"):
        open_benchmark(InstancesConfig(benchmark="set_covering", size="huge"), tmp_path)
