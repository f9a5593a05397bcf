"""What `bench.export --python` sees of an exported rule, and that it would see a mistake."""

import json
import sys

import pytest

from bench import export
from bife_core.export import export_c

pytestmark = pytest.mark.skipif(not export.compiler(), reason="there is no C compiler here")


@pytest.mark.parametrize(
    ("mistake", "seen"),
    [
        (("", ""), {"other_choices": 0, "values_off": 0}),
        (("weight_4 = fabs(SCIProwGetDualsol(row))", "weight_4 = 1.0"), {"other_choices", "values_off"}),
        (("own > highest", "own < 1e6"), {"other_choices"}),
    ],
    ids=["none", "of a feature", "of a choice"],
)
def test_features_and_choices_are_compared_at_every_branching(
    mistake, seen, knapsacks, tmp_path, monkeypatch, capfd
):
    text = export_c("paper_ca")
    assert mistake[0] in text
    monkeypatch.setattr(export, "export_c", lambda rule: text.replace(*mistake) if mistake[0] else text)
    export.elsewhere(sys.executable, "paper_ca", [("ca", knapsacks[0].path)], tmp_path, 30)
    said = json.loads(capfd.readouterr().out)
    assert said["branchings"] > 3
    assert said["same"] or mistake[0], "with another choice the limit on nodes cuts another tree"
    counts = {name: said[name] for name in ("other_choices", "values_off")}
    if isinstance(seen, dict):
        assert counts == seen
    else:
        assert {name for name, count in counts.items() if count} == seen
