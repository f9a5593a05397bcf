from __future__ import annotations

import gzip
import subprocess
import sys

import pytest

from bife_core.benchmarks.generated import content_digest, fetch
from bife_core.errors import InstanceError

TEXT = "NAME a\nROWS\n" + " L row\n" * 200 + "ENDATA\n"


class Builder:
    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return TEXT


@pytest.fixture
def build():
    return Builder()


def test_a_missing_file_is_built_once(tmp_path, build):
    path, digest = fetch(tmp_path / "new" / "place", "stem", build)
    assert gzip.decompress(path.read_bytes()).decode() == TEXT
    assert digest == content_digest(TEXT.encode())
    assert path.name == f"stem.{digest}.mps.gz"
    assert fetch(tmp_path / "new" / "place", "stem", build) == (path, digest)
    assert build.calls == 1
    assert list(path.parent.iterdir()) == [path]


def flipped(content):
    return bytes([*content[:40], content[40] ^ 0xFF, *content[41:]])


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(flipped(path.read_bytes())),
        lambda path: path.write_bytes(gzip.compress(b"NAME b\nENDATA\n")),
        lambda path: path.unlink(),
    ],
    ids=["truncated", "empty", "flipped", "other", "missing"],
)
def test_a_damaged_file_is_built_anew(tmp_path, build, damage):
    path, digest = fetch(tmp_path, "stem", build)
    intact = path.read_bytes()
    damage(path)
    assert fetch(tmp_path, "stem", build) == (path, digest)
    assert path.read_bytes() == intact
    assert build.calls == 2


def test_stems_that_begin_alike_are_kept_apart(tmp_path, build):
    first, _ = fetch(tmp_path, "design-1", build)
    second, _ = fetch(tmp_path, "design-10", lambda: TEXT + "\n")
    assert first != second
    assert fetch(tmp_path, "design-1", build)[0] == first
    assert build.calls == 1


def test_a_place_that_cannot_be_written_is_an_error_in_words(tmp_path, build):
    blocker = tmp_path / "file"
    blocker.write_text("in the way")
    with pytest.raises(InstanceError, match=r"Cannot keep the generated instance .*stem"):
        fetch(blocker / "below", "stem", build)


FILL = """
import sys
from pathlib import Path
from bife_core.benchmarks.config import FAMILIES
from bife_core.benchmarks.generated import GeneratedBenchmark
benchmark = GeneratedBenchmark(FAMILIES["combinatorial_auction"], "tiny", 0, Path(sys.argv[1]))
sys.stdin.readline()
for instance in benchmark.instances("design", 12):
    print(instance.digest, instance.path.name)
"""


def test_two_processes_fill_the_same_place_at_once(tmp_path):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", FILL, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    answers = []
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        answers.append(process.communicate(timeout=60)[0])
        assert process.returncode == 0
    assert answers[0] == answers[1]
    kept = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert len(kept) == 12
    assert sorted(kept) == sorted(line.split()[1] for line in answers[0].splitlines())
