import pytest

from bife_core.base.likeness import Likeness
from bife_core.instances.config import FAMILIES
from bife_core.instances.formulation import formulation, likeness_of, row_type, shape
from bife_core.instances.generated import GeneratedBenchmark
from bife_core.solver.scip.reader import read_model

MIXED = """Minimize
 obj: 3 x - 2 y + z
Subject To
 cover: a + b + x >= 1
 link: z - 5 a <= 0
 order: a - b <= 0
 whole: 2 n + a <= 7
Bounds
 0 <= z <= 9
 0 <= n <= 4
Binaries
 a b x y
Generals
 n
End
"""
PACKING = (
    "Maximize\n obj: x + y + z\nSubject To\n a: x + y <= 1\n b: y + z <= 1\n{more}Binaries\n x y z\nEnd\n"
)


def test_the_published_instances_are_described(golden_dir):
    sentences = " ".join(formulation([golden_dir / "cauctions_0.mps.gz"]))
    assert "Variables: 500 (100 % binary)." in sentences
    assert "Constraints: 193 (100 % set packing (sum of binaries <= 1)), each on 13.9" in sentences
    assert "The objective is maximised (the solver minimises its negative" in sentences
    sentences = " ".join(formulation([golden_dir / "setcover_0.mps.gz"]))
    assert "500 (100 % set covering" in sentences
    assert "minimised; 100 % of the variables have a coefficient in it: 1 to 100." in sentences


def test_instances_that_differ_are_described_by_ranges(tmp_path):
    (tmp_path / "one.lp").write_text(MIXED)
    (tmp_path / "two.lp").write_text(MIXED.replace("Subject To", "Subject To\n more: a + y >= 1"))
    sentences = " ".join(formulation([tmp_path / "one.lp", tmp_path / "two.lp"]))
    assert "6 (66.7 % binary, 16.7 % continuous, 16.7 % integer)" in sentences
    assert "4 to 5 (25 to 40 % set covering" in sentences
    assert "20 to 25 % variable bound" in sentences


@pytest.mark.parametrize(
    ("values", "low", "high", "name"),
    [
        ([1.0, 1.0], 1.0, 1.0, "set partitioning"),
        ([-1.0, -1.0], None, -1.0, "set covering"),
        ([1.0, 1.0], None, 3.0, "packing (sum of binaries <= k)"),
        ([2.0, 3.0], None, 4.0, "knapsack"),
        ([2.0, 3.0], 4.0, 4.0, "knapsack equation"),
        ([2.0, 3.0, -1.0], 4.0, None, "on binaries, with both signs"),
    ],
)
def test_rows_have_their_usual_names(values, low, high, name):
    assert row_type(["binary"] * len(values), values, low, high).startswith(name)


def packing(folder, name, more=""):
    path = folder / name
    path.write_text(PACKING.format(more=more))
    return path


def test_instances_are_like_those_they_are_of(tmp_path):
    paths = [packing(tmp_path, "a.lp"), packing(tmp_path, "b.lp", " c: x + z <= 1\n")]
    likeness = likeness_of(paths)
    assert likeness.ranges["constraints"] == (2.0, 3.0)
    assert [likeness.difference(shape(read_model(path))) for path in paths] == [None, None]
    assert Likeness.model_validate_json(likeness.model_dump_json()) == likeness


def test_other_types_of_rows_and_other_sizes_make_a_difference(tmp_path):
    plain = packing(tmp_path, "a.lp")
    covering = packing(tmp_path, "c.lp", " c: x + z >= 1\n")
    likeness, numbers = likeness_of([plain]), shape(read_model(plain))
    assert "set packing" in str(likeness.difference(shape(read_model(covering))))
    assert likeness_of([covering]).difference(numbers) is not None
    assert likeness.difference(numbers | {"variables": 4.0}) is None
    assert likeness.difference(numbers | {"variables": 6.0}) == "variables: 6 here, 3 there"


def test_families_are_distinguished(tmp_path):
    files = {}
    for name, family in FAMILIES.items():
        benchmark = GeneratedBenchmark(family, "tiny", seed=0, cache_dir=tmp_path)
        files[name] = [instance.path for instance in benchmark.instances("test", 4)]
    ranges = {name: likeness_of(paths[:3]) for name, paths in files.items()}
    for name, paths in files.items():
        numbers = shape(read_model(paths[3]))
        alike = [other for other, likeness in ranges.items() if likeness.difference(numbers) is None]
        assert alike == [name]
