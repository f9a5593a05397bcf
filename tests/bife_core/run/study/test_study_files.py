import json

import pytest

from bife_core.run.study import files
from bife_core.search import GenerationSummary, Sample, SearchCost
from bife_core.search.population import ranked
from bife_core.solver.methods.scorer import RuleMethod

SOURCE = "def candidate_variable_score(variable_features) -> float:\n    return variable_features[{}]\n"


def sample(name, **known):
    known = {"generation": 0, "operator": "i1", "source": SOURCE.format(int(name[-1])), "sha": name} | known
    return Sample(id=name, **known)


FOUND = [
    sample("c0", f_lf=0.2),
    sample("c1", f_lf=0.9, f_hf=-3.0),
    sample("c2", failure="Line 1: it is no Python.", sha=None),
    sample("c3", f_lf=0.5, f_hf=-2.0, generation=1, operator="e1", parents=("c1", "c1", "c0")),
    sample(
        "c4", f_lf=0.1, niche=2, behaviour="abAc", eliminated="it took 4 times as much", thought="Few rows."
    ),
    sample("c5", f_lf=0.05, duplicate_of="c4"),
]
SUMMARIES = [
    GenerationSummary(generation=0, samples=3, failures=1, solved=1, samples_total=3, failures_total=1),
    GenerationSummary(generation=1, samples=1, failures=0, solved=1, samples_total=4, failures_total=1),
]


@pytest.fixture
def dots():
    """Pictures are drawn here."""


def test_samples_are_ranked_by_high_then_low_fidelity():
    assert [row["id"] for row in files.sample_rows(FOUND)] == ["c3", "c1", "c0", "c4", "c5", "c2"]


def test_samples_are_read_as_they_were_written(tmp_path):
    used = {name for one in FOUND for name, value in one if value}
    assert used == Sample.model_fields.keys(), "none is lost"
    files.write_samples(tmp_path / "new", FOUND)
    rows = json.loads((tmp_path / "new" / files.SAMPLES).read_bytes())
    samples = [Sample.model_validate(row | {"parents": row["parents"].split()}) for row in rows]
    assert samples == ranked(FOUND)


def test_what_a_search_ended_with_comes_with_figures(tmp_path):
    cost = SearchCost(search="bife", f_hf_s=1.0)
    files.write_outcome(tmp_path, FOUND[3], FOUND, SUMMARIES, cost)
    assert (tmp_path / "best_rule.py").read_text() == FOUND[3].source
    handed_on = tmp_path / "rules" / "c3.py"
    files.write_outcome(tmp_path, FOUND[1], FOUND, SUMMARIES, cost)
    assert (tmp_path / "best_rule.py").read_text() == FOUND[1].source
    assert handed_on.read_text() == FOUND[3].source
    other = RuleMethod(name="c3", source=FOUND[1].source)
    assert files.keep_rule(tmp_path, other) != handed_on
    assert files.keep_rule(tmp_path, other).read_text() == other.source
    assert handed_on.read_text() == FOUND[3].source, "a file of a rule never changes"
    assert (tmp_path / "best_rule.py").read_text() == (tmp_path / "rules" / "c1.py").read_text()
    assert SearchCost.model_validate_json((tmp_path / files.COST).read_bytes()) == cost
    for name in ("progress.png", "fidelities.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
