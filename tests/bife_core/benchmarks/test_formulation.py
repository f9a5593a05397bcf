from __future__ import annotations

from pathlib import Path

import pytest

from bife_core.benchmarks.formulation import formulation, row_type

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


def test_the_published_models_are_told_in_words_and_numbers(golden_dir: Path) -> None:
    told = " ".join(formulation([golden_dir / "cauctions_0.mps.gz"]))
    assert "Variables: 500 binary." in told
    assert "193 set packing (sum of binaries <= 1)." in told
    assert "The objective is maximised (the solver minimises its negative" in told
    told = " ".join(formulation([golden_dir / "setcover_0.mps.gz"]))
    assert "1000 binary" in told
    assert "500 set covering" in told
    assert "50 on average (5 % of all)" in told
    assert "minimised; 100 % of the variables have a coefficient in it: 1 to 100." in told


def test_any_model_of_a_folder_is_told_and_ranges_over_several(tmp_path: Path) -> None:
    (tmp_path / "one.lp").write_text(MIXED)
    (tmp_path / "two.lp").write_text(MIXED.replace("Subject To", "Subject To\n more: a + y >= 1"))
    told = " ".join(formulation([tmp_path / "one.lp", tmp_path / "two.lp"]))
    assert "4 binary, 1 integer, 1 continuous" in told
    assert "1 to 2 set covering" in told
    assert "1 variable bound" in told
    assert "1 precedence of two binaries" in told
    assert "1 on integer variables" in told


@pytest.mark.parametrize(
    ("values", "low", "high", "name"),
    [
        ([1.0, 1.0], 1.0, 1.0, "set partitioning"),
        ([-1.0, -1.0], None, -1.0, "set covering"),
        ([1.0, 1.0], None, 3.0, "packing (sum of binaries <= k)"),
        ([2.0, 3.0], None, 4.0, "knapsack"),
        ([2.0, 3.0], 4.0, 4.0, "knapsack equation"),
        ([2.0, 3.0, -1.0], 4.0, None, "on binaries, with coefficients of both signs"),
    ],
)
def test_rows_have_their_usual_names(
    values: list[float], low: float | None, high: float | None, name: str
) -> None:
    assert row_type(["binary"] * len(values), values, low, high).startswith(name)
