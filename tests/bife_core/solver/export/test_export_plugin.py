"""An exported rule branches as the native one does, node for node, and falls back where it must."""

import ctypes
import json
import subprocess
import sys

import numpy as np
import pyscipopt
import pytest

from bench import export
from bench.export import SHOW_FEATURES, compiler, rule_of_all
from bife_core import FeatureExtractor
from bife_core.language.components import BRANCHING
from bife_core.language.features import FEATURES
from bife_core.language.rules import REFERENCE_RULES
from bife_core.solver.export import export_c
from bife_core.solver.methods.attach import attach
from bife_core.solver.scip.libscip import scip_address
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.solve import SolveSettings, apply
from tests.bife_core.solver.scip.test_extractor import AtEachBranching
from tests.support.exported import branchings, exported, include, load
from tests.support.marks import long_but

needs_compiler = pytest.mark.skipif(not compiler(), reason="there is no C compiler here")


@pytest.fixture
def all_features(tmp_path):
    path = tmp_path / "all_features.py"
    path.write_text(rule_of_all(BRANCHING.n_features), encoding="utf-8")
    return str(path)


def assert_same_tree(path, rule, folder, **settings):
    native = branchings(path, lambda model: attach(model, rule), **settings)
    assert len(native) > 3
    assert branchings(path, exported(rule, folder), **settings) == native


@needs_compiler
@pytest.mark.parametrize("family", long_but(["cauctions", "setcover", "indset"], ["cauctions"]))
def test_every_feature_is_that_of_the_kernel(family, all_features, golden_dir, tmp_path):
    source = tmp_path / "shown.c"
    source.write_text(export_c(all_features) + SHOW_FEATURES, encoding="utf-8")
    code = load(source)
    code.show_features.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    extractor = []

    def compare(model):
        if not extractor:
            extractor.append(FeatureExtractor(model, frozenset(range(BRANCHING.n_features))))
        _, expected = extractor[0].extract()
        shown = np.full((len(expected), BRANCHING.n_features), np.nan)
        assert code.show_features(scip_address(model), shown.ctypes.data) == len(expected)
        for feature in FEATURES:
            np.testing.assert_array_equal(
                shown[:, feature.index], expected[:, feature.index], err_msg=feature.name
            )

    model = read_model(golden_dir / f"{family}_0.mps.gz")
    params = {"separating/poolfreq": 1, "separating/maxrounds": 2, "separating/maxroundsroot": 2}
    apply(SolveSettings(params=params), model)
    rule = AtEachBranching(compare, 12)
    include(code, model)
    model.includeBranchrule(rule, "visit", "", 20_000_000, -1, 1.0)
    model.setParams({"branching/bife/priority": 10_000_000, "branching/relpscost/priority": 9_999_999})
    model.optimize()
    if rule.error is not None:
        raise rule.error
    assert rule.calls > 3


@needs_compiler
def test_the_tree_is_the_native_one(all_features, knapsacks, tmp_path):
    for rule in ("paper_ca", all_features):
        assert_same_tree(knapsacks[0].path, rule, tmp_path)


@needs_compiler
@pytest.mark.long
def test_all_features_on_all_models(all_features, golden_dir, tmp_path):
    for path in sorted(golden_dir.glob("*.mps.gz")):
        assert_same_tree(path, all_features, tmp_path, node_limit=100)


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize(("number", "rule"), list(enumerate(REFERENCE_RULES)), ids=list(REFERENCE_RULES))
def test_all_rules_on_a_model_each(number, rule, golden_dir, tmp_path):
    models = sorted(golden_dir.glob("*.mps.gz"))
    assert_same_tree(models[number % len(models)], rule, tmp_path, node_limit=100)


@needs_compiler
@pytest.mark.parametrize("body", ["return float('nan')", "return float('-inf')"])
def test_where_the_rule_cannot_decide_scip_branches(body, knapsacks, tmp_path):
    path = tmp_path / "undecided.py"
    path.write_text(f"def candidate_variable_score(f):\n    {body}\n", encoding="utf-8")
    alone = branchings(knapsacks[0].path, lambda model: None)
    assert branchings(knapsacks[0].path, exported(str(path), tmp_path)) == alone


@needs_compiler
def test_the_guard_wants_a_finite_score_and_can_be_turned_off(knapsacks, tmp_path):
    path = tmp_path / "infinite.py"
    path.write_text("def candidate_variable_score(f):\n    return float('inf')\n", encoding="utf-8")
    put = exported(str(path), tmp_path)

    def guarded(model):
        put(model)
        model.setParam("branching/bife/maxshare", 1.0)

    rpb = branchings(knapsacks[0].path, lambda model: None)
    assert branchings(knapsacks[0].path, guarded) == rpb
    assert branchings(knapsacks[0].path, put) != rpb


@needs_compiler
def test_the_file_is_clean_c_and_two_may_be_in_one_program(all_features, tmp_path):
    for name in ("paper_ca", all_features):
        (tmp_path / "rule.c").write_text(export_c(name), encoding="utf-8")
        strict = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wmissing-prototypes", "-Werror"]
        compiled(tmp_path / "rule.c", "-std=c99", "-D_POSIX_C_SOURCE=200809L", *strict)
    with pytest.raises(subprocess.CalledProcessError):
        compiled(tmp_path / "rule.c", "-ffast-math")
    (tmp_path / "other.c").write_text(export_c("paper_ca"), encoding="utf-8")
    compiled(tmp_path / "other.c", '-DBIFE_NAME="bife_2"', "-DBIFE_INCLUDE=SCIPincludeBranchruleBife2")
    both = tmp_path / "both.so"
    command = [*compiler(), "-shared", str(tmp_path / "rule.o"), str(tmp_path / "other.o")]
    subprocess.run([*command, "-o", str(both), "-lm"], check=True)
    code, model = load(both), pyscipopt.Model()
    scip = ctypes.c_void_p(scip_address(model))
    assert (code.SCIPincludeBranchruleBife(scip), code.SCIPincludeBranchruleBife2(scip)) == (1, 1)
    assert code.SCIPincludeBranchruleBife(scip) == -9, "once only"
    assert {"branching/bife/maxshare", "branching/bife_2/maxshare"} <= model.getParams().keys()


def compiled(source, *flags):
    command = [*compiler(), "-DBIFE_NO_SCIP_HEADERS", "-fPIC", "-c", *flags, str(source)]
    subprocess.run([*command, "-o", str(source.with_suffix(".o"))], check=True, capture_output=True)


def test_only_what_the_rule_reads_is_in_the_file():
    text = export_c("pseudocost_product")
    assert "SCIPgetVarPseudocost(scip, variable" in text
    assert "features_by_row" not in text
    assert "take_column" not in text
    assert "def candidate_variable_score" in text
    assert "@" not in text.partition("#define BIFE_NAME")[2]


def test_a_rule_cannot_end_the_comment_it_stands_in(tmp_path):
    path = tmp_path / "odd.py"
    path.write_text('def candidate_variable_score(f):\n    """*/ int x; /*"""\n    return f[18]\n')
    text = export_c(str(path))
    assert text.index("*/") > text.index("return f[18]")


@needs_compiler
@pytest.mark.parametrize(
    ("mistake", "seen"),
    [
        (("", ""), {"other_choices": 0, "values_off": 0}),
        (("weight_4 = fabs(SCIProwGetDualsol(row))", "weight_4 = 1.0"), {"other_choices", "values_off"}),
        (("own > highest", "own < 1e6"), {"other_choices"}),
    ],
    ids=["none", "of a feature", "of a choice"],
)
def test_a_mistake_is_seen_in_the_scip_of_another_python(
    mistake, seen, knapsacks, tmp_path, monkeypatch, capfd
):
    text = export_c("paper_ca")
    assert mistake[0] in text
    monkeypatch.setattr(export, "export_c", lambda rule: text.replace(*mistake) if mistake[0] else text)
    export.elsewhere(sys.executable, "paper_ca", [("ca", knapsacks[0].path)], tmp_path, 30)
    report = json.loads(capfd.readouterr().out)
    assert report["branchings"] > 3
    assert report["same"] or mistake[0], "with another choice the limit on nodes cuts another tree"
    counts = {name: report[name] for name in ("other_choices", "values_off")}
    if isinstance(seen, dict):
        assert counts == seen
    else:
        assert {name for name, count in counts.items() if count} == seen
