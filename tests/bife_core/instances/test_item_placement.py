from pathlib import Path

import pytest

from bife_core.instances.base import Place
from bife_core.instances.config import FAMILIES
from bife_core.instances.families.item_placement import competition_index, item_placement
from bife_core.instances.generated import GeneratedBenchmark
from tests.support.read_back import arrays, assert_same, read_by_scip

GOLDEN = Path(__file__).parents[2] / "data" / "golden"


def benchmark(tmp_path, size="test", seed=0):
    return GeneratedBenchmark(FAMILIES["item_placement"], size, seed, tmp_path)


@pytest.mark.parametrize("k", [0, 9900])
def test_it_is_the_published_file_in_every_number_and_name(k):
    model = item_placement(k)
    published = read_by_scip(GOLDEN / f"item_placement_{k}.mps.gz")
    assert_same(published, model)
    assert (model.name, model.maximise, arrays(model).rows.nnz) == (published.getProbName(), False, 7_440)
    kinds = {v.name: v.vtype() for v in published.getVars()}
    assert kinds == {v.name: "BINARY" if v.integer else "CONTINUOUS" for v in model.variables}


def test_splits_are_those_of_the_competition(tmp_path):
    opened = benchmark(tmp_path)
    assert len(benchmark(tmp_path, "tiny").instances("test", 500)) == 100
    assert [opened.model("validation", i).name for i in (0, 99)] == ["Knapsack_9900", "Knapsack_9999"]
    assert [opened.model("test", i).name for i in (0, 99)] == ["Knapsack_10000", "Knapsack_10099"]
    taken = [
        competition_index(Place("item_placement", "test", split, index, seed=3))
        for split in ("collection", "design")
        for index in range(4_950)
    ]
    assert sorted(taken) == list(range(9_900))


def test_a_seed_deals_out_the_training_set_anew_and_leaves_the_test_set(tmp_path):
    first, second = benchmark(tmp_path), benchmark(tmp_path, seed=3**80)
    assert first.model("design", 0).name != second.model("design", 0).name
    assert first.model("test", 5).name == second.model("test", 5).name
