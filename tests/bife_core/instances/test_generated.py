import gzip
import subprocess
import sys
from dataclasses import replace

import pytest

from bife_core.base.errors import ConfigError, InstanceError
from bife_core.instances.base import Place, content_digest
from bife_core.instances.config import FAMILIES, InstancesConfig
from bife_core.instances.folder import FolderBenchmark
from bife_core.instances.generated import GeneratedBenchmark, fetch, instance_stream, open_benchmark

TEXT = "NAME a\nROWS\n" + " L row\n" * 200 + "ENDATA\n"


@pytest.fixture
def benchmark(tmp_path):
    return GeneratedBenchmark(FAMILIES["set_covering"], "tiny", seed=0, cache_dir=tmp_path)


def test_streams_are_frozen_and_each_argument_changes_them():
    """Instances of published runs must be the same next year."""
    base = Place("set_covering", "test", "design", 0, seed=0)
    assert instance_stream(base).rand() == 0.9276872432263092
    changes = [{}, {"family": "b"}, {"size": "tiny"}, {"split": "test"}, {"index": 1}, {"seed": 1}]
    assert len({instance_stream(replace(base, **change)).rand() for change in changes}) == len(changes)


def test_kept_files_are_not_drawn_again(benchmark, monkeypatch):
    instances = benchmark.instances("design", 2)
    monkeypatch.setattr(GeneratedBenchmark, "model", lambda *_: pytest.fail("drawn again"))
    assert replace(benchmark).instances("design", 2) == instances


def test_other_parameters_and_other_data_make_other_files(benchmark, tmp_path):
    sizes = {"tiny": {**benchmark.family.sizes["tiny"], "max_cost": 4}}
    changed = replace(benchmark, family=replace(benchmark.family, sizes=sizes))
    assert changed.instance("design", 0).digest != benchmark.instance("design", 0).digest
    table = tmp_path / "table.csv"
    paths = []
    for content in ("1", "2", "1"):
        table.write_text(content)
        family = replace(benchmark.family, data=(table,))
        paths.append(replace(benchmark, family=family).instance("design", 0).path)
    assert paths[0] == paths[2] != paths[1]


def test_an_instance_is_a_group_of_its_own_unless_its_family_says_which(benchmark):
    alone = benchmark.instance("test", 3)
    assert alone.group == alone.digest
    paired = replace(benchmark.family, group=lambda place: f"pair {place.index // 2}")
    groups = [instance.group for instance in replace(benchmark, family=paired).instances("test", 3)]
    assert groups == ["set_covering: pair 0", "set_covering: pair 0", "set_covering: pair 1"]


def test_an_unknown_split_is_named_with_the_known_ones(benchmark):
    with pytest.raises(ConfigError, match=r"'collection', 'design', 'validation', 'test'.*'train'"):
        benchmark.instances("train", 1)


def test_a_missing_file_is_built_once(tmp_path):
    folder = tmp_path / "new" / "place"
    path, digest = fetch(folder, "stem-1", lambda: TEXT)
    assert gzip.decompress(path.read_bytes()).decode() == TEXT
    assert digest == content_digest(TEXT.encode())
    assert path.name == f"stem-1.{digest}.mps.gz"
    assert fetch(folder, "stem-10", lambda: TEXT + "\n")[0] != path, "stems that begin alike"
    assert fetch(folder, "stem-1", lambda: pytest.fail("built again")) == (path, digest)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-9],
        lambda _: b"",
        lambda content: bytes([*content[:40], content[40] ^ 0xFF, *content[41:]]),
        lambda _: gzip.compress(b"NAME b\nENDATA\n"),
    ],
    ids=["truncated", "empty", "flipped", "other"],
)
def test_a_damaged_file_is_built_anew(tmp_path, damage):
    path, digest = fetch(tmp_path, "stem", lambda: TEXT)
    intact = path.read_bytes()
    path.write_bytes(damage(intact))
    assert fetch(tmp_path, "stem", lambda: TEXT) == (path, digest)
    assert path.read_bytes() == intact


def test_a_place_that_cannot_be_written_is_an_error_in_words(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InstanceError, match=r"Cannot keep the generated instance .*stem"):
        fetch(tmp_path / "file" / "below", "stem", lambda: TEXT)


FILL = """
import sys
from pathlib import Path
from bife_core.instances.config import FAMILIES
from bife_core.instances.generated import GeneratedBenchmark
benchmark = GeneratedBenchmark(FAMILIES["combinatorial_auction"], "tiny", 0, Path(sys.argv[1]))
sys.stdin.readline()
for instance in benchmark.instances("design", 12):
    print(instance.digest, instance.path.name)
"""


def test_two_processes_fill_the_same_place_at_once(tmp_path):
    command = [sys.executable, "-c", FILL, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=60)[0] for process in processes]
    assert answers[0] == answers[1]
    kept = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(kept) == sorted(line.split()[1] for line in answers[0].splitlines())
    assert len(kept) == 12


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
