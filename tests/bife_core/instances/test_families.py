"""What every family promises; a new one is tested as soon as it is registered."""

import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from bife_core.instances.base import SPLITS
from bife_core.instances.config import FAMILIES
from bife_core.instances.generated import GeneratedBenchmark
from bife_core.instances.milp import mps_text
from tests.support.marks import long_but
from tests.support.read_back import arrays, assert_same, read_by_scip

QUICK = ("combinatorial_auction", "independent_set", "item_placement")
"""Families whose tiny models are solved at once; `make long` solves some of every family."""


@pytest.fixture(params=FAMILIES)
def benchmark(request, tmp_path):
    return GeneratedBenchmark(FAMILIES[request.param], "tiny", seed=0, cache_dir=tmp_path)


def solved(path, **parameters):
    model = read_by_scip(path)
    model.setParams({"separating/maxrounds": 0, "presolving/maxrestarts": 0, **parameters})
    model.optimize()
    return model


def test_names_are_those_of_the_registry():
    assert [family.name for family in FAMILIES.values()] == list(FAMILIES)
    assert len({family.label for family in FAMILIES.values()}) == len(FAMILIES)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param(name, size, marks=() if size in ("tiny", "small", "test") else pytest.mark.long)
        for name in FAMILIES
        for size in FAMILIES[name].sizes
    ],
)
def test_an_instance_is_the_same_whenever_and_wherever_it_is_made(name, size, tmp_path):
    first, second = (
        GeneratedBenchmark(FAMILIES[name], size, 3, tmp_path / place).model("design", 1) for place in "ab"
    )
    assert mps_text(first) == mps_text(second)


def test_one_instance_alone_is_the_one_in_the_list(benchmark, tmp_path):
    listed = benchmark.instances("design", 4)[3]
    elsewhere = GeneratedBenchmark(benchmark.family, "tiny", 0, tmp_path / "elsewhere")
    alone = elsewhere.instance("design", 3)
    assert (alone.name, alone.digest) == (listed.name, listed.digest)
    assert alone.path.read_bytes() == listed.path.read_bytes()


def test_splits_and_indices_share_nothing_whatever_the_seed(benchmark, tmp_path):
    benchmarks = {seed: GeneratedBenchmark(benchmark.family, "tiny", seed, tmp_path) for seed in (0, 1)}
    every = {(split, k): each.instances(split, 3) for split in SPLITS for k, each in benchmarks.items()}
    drawn = {where: [one.digest for one in instances] for where, instances in every.items()}
    for split in SPLITS:
        here = [digest for (other, _), digests in drawn.items() for digest in digests if other == split]
        elsewhere = [digest for (other, _), digests in drawn.items() for digest in digests if other != split]
        if split in ("validation", "test"):
            assert not set(here) & set(elsewhere)
    for seed in (0, 1):
        assert len({digest for split in SPLITS for digest in drawn[split, seed]}) == 12
    if benchmark.family.count is None:
        assert len({digest for digests in drawn.values() for digest in digests}) == 24
    instances = [i for split in SPLITS for i in benchmark.instances(split, 3)]
    assert len({i.name for i in instances}) == len({i.path for i in instances}) == 12


def test_scip_reads_the_file_as_it_was_drawn(benchmark):
    file = benchmark.instance("validation", 0).path
    assert_same(read_by_scip(file), benchmark.model("validation", 0))


@pytest.mark.parametrize("benchmark", long_but(FAMILIES, ["item_placement"]), indirect=True)
def test_scip_finds_the_optimum_another_solver_finds(benchmark):
    data = arrays(benchmark.model("test", 0))
    sign = -1 if data.maximise else 1
    bounds, rows = Bounds(data.lower, data.upper), LinearConstraint(data.rows, data.row_lower, data.row_upper)
    how = {"integrality": data.integer, "options": {"mip_rel_gap": 1e-9}}
    other = milp(sign * data.objective, bounds=bounds, constraints=rows, **how)
    model = solved(benchmark.instance("test", 0).path)
    assert model.getStatus() == "optimal"
    assert model.getObjVal() == pytest.approx(sign * other.fun, rel=1e-6)


@pytest.mark.parametrize("benchmark", long_but(FAMILIES, QUICK), indirect=True)
def test_tiny_models_need_branching_yet_little_time(benchmark):
    models = [
        solved(i.path, **{"branching/mostinf/priority": 1_000_000, "limits/nodes": 5_000})
        for i in benchmark.instances("design", 3)
    ]
    assert [model.getStatus() for model in models] == ["optimal"] * 3
    assert sum(model.getNTotalNodes() > 1 for model in models) >= 2
