"""The page docs/extending.md, followed to the letter."""

from __future__ import annotations

import pytest

from bife_core.benchmarks.base import Family
from bife_core.benchmarks.config import FAMILIES
from bife_core.benchmarks.generated import open_benchmark
from bife_core.config import InstancesConfig
from tests.support import documents

PAGE = "docs/extending.md"


@pytest.fixture(scope="module")
def blocks():
    return documents.blocks("extending.md", "python", "Adding a benchmark")


def test_the_example_family_can_be_registered_and_branches(blocks, monkeypatch, tmp_path, capsys):
    family_file, check = blocks
    namespace: dict[str, object] = {}
    exec(compile(family_file, str(PAGE), "exec", dont_inherit=True), namespace)
    family = namespace["FAMILY"]
    assert isinstance(family, Family)

    monkeypatch.setitem(FAMILIES, family.name, family)
    instances = open_benchmark(InstancesConfig(benchmark="knapsack", size="test"), tmp_path).instances(
        "test", 2
    )
    assert len({instance.digest for instance in instances}) == 2

    exec(compile(check, str(PAGE), "exec", dont_inherit=True), namespace)
    nodes = [int(line.split()[1]) for line in capsys.readouterr().out.splitlines()]
    assert len(nodes) == 3
    assert min(nodes) > 1
