import pytest

from bife_core.benchmarks.config import FAMILIES
from bife_core.benchmarks.formulation import Likeness, likeness_of, shape
from bife_core.benchmarks.generated import GeneratedBenchmark
from bife_core.scip.reading import read_model

PACKING = (
    "Maximize\n obj: x + y + z\nSubject To\n a: x + y <= 1\n b: y + z <= 1\n{more}Binaries\n x y z\nEnd\n"
)


@pytest.fixture
def packing(tmp_path):
    def written(name, more=""):
        path = tmp_path / name
        path.write_text(PACKING.format(more=more))
        return path

    return written


def test_models_are_like_those_they_are_of(packing):
    models = [packing("a.lp"), packing("b.lp", " c: x + z <= 1\n")]
    known = likeness_of(models)
    assert known.ranges["constraints"] == (2.0, 3.0)
    assert [known.difference(shape(read_model(path))) for path in models] == [None, None]
    assert Likeness.model_validate_json(known.model_dump_json()) == known


def test_a_type_of_row_that_none_of_them_has_tells_a_model_apart(packing):
    known = likeness_of([packing("a.lp")])
    difference = known.difference(shape(read_model(packing("b.lp", " c: 2 x + 3 z <= 4\n"))))
    assert difference.endswith("66.67 here, 100 there")
    one_sided = known.difference(shape(read_model(packing("c.lp", " c: x + z >= 1\n"))))
    assert "set packing" in one_sided


def test_a_type_of_row_that_is_missing_tells_a_model_apart(packing):
    known = likeness_of([packing("a.lp", " c: x + z >= 1\n")])
    assert known.difference(shape(read_model(packing("b.lp")))) is not None


def test_a_model_twice_as_large_is_another(packing):
    found = shape(read_model(packing("a.lp")))
    known = Likeness(ranges={name: (value, value) for name, value in found.items()})
    assert known.difference(found | {"variables": 4.0}) is None
    assert known.difference(found | {"variables": 6.0}) == "variables: 6 here, 3 there"


def test_families_are_distinguished(tmp_path):
    files = {
        name: [
            one.path
            for one in GeneratedBenchmark(family, "tiny", seed=0, cache_dir=tmp_path).instances("test", 4)
        ]
        for name, family in FAMILIES.items()
    }
    known = {name: likeness_of(paths[:3]) for name, paths in files.items()}
    for name, paths in files.items():
        found = shape(read_model(paths[3]))
        assert [other for other, one in known.items() if one.difference(found) is None] == [name]
