import json

from bife_core.search import GenerationSummary, Sample
from bife_core.study import files

SOURCE = "def candidate_variable_score(variable_features) -> float:\n    return variable_features[{}]\n"


def sample(name, **known):
    known = {"generation": 0, "operator": "i1", "source": SOURCE.format(int(name[-1])), "sha": name} | known
    return Sample(id=name, **known)


FOUND = [
    sample("c0", f_lf=0.2),
    sample("c1", f_lf=0.9, f_hf=-3.0),
    sample("c2", failure="Line 1: it is no Python.", sha=None),
    sample("c3", f_lf=0.5, f_hf=-2.0, generation=1, operator="e1", parents=("c1", "c1", "c0")),
]
SUMMARIES = [
    GenerationSummary(generation=0, samples=3, failures=1, solved=1, samples_total=3, failures_total=1),
    GenerationSummary(generation=1, samples=1, failures=0, solved=1, samples_total=4, failures_total=1),
]


def test_samples_are_ranked_by_high_then_low_fidelity():
    assert [row["id"] for row in files.sample_rows(FOUND)] == ["c3", "c1", "c0", "c2"]


def test_the_lineage_has_an_edge_for_every_parent():
    edges = files.descent(FOUND)["edges"]
    assert {"parent": "c0", "child": "c3"} in edges
    assert {edge["child"] for edge in edges} == {"c3"}


def test_files_of_a_search_are_json(tmp_path):
    files.write_search(tmp_path / "new", FOUND)
    for path in (tmp_path / "new").iterdir():
        assert json.loads(path.read_text())


def test_the_best_rule_comes_with_its_differences_and_figures(tmp_path):
    files.write_best(tmp_path, FOUND[3], FOUND, SUMMARIES)
    assert (tmp_path / "best_rule.py").read_text() == FOUND[3].source
    difference = (tmp_path / "best.diff").read_text()
    assert difference.count("--- c1.py") == 1
    assert "-    return variable_features[1]" in difference
    assert "+    return variable_features[3]" in difference
    for name in ("progress.png", "fidelities.png", "lineage.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_a_best_rule_without_parents_has_an_empty_difference(tmp_path):
    files.write_best(tmp_path, FOUND[1], FOUND, SUMMARIES)
    assert (tmp_path / "best.diff").read_text() == ""
