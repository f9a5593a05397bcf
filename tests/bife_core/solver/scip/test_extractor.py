"""The features against frozen values, and the extractor's behaviour at its edges."""

import gc
from itertools import pairwise

import numpy as np
import psutil
import pyscipopt
import pytest

from bife_core import FeatureExtractor
from bife_core.base.errors import SolverError
from bife_core.language.components import BRANCHING
from bife_core.language.features import FEATURES
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.solve import SolveSettings, apply
from tests.support.marks import long_but

GOLDEN_BRANCHINGS = 8
GOLDEN_FAMILIES = ["cauctions", "setcover", "indset", "facilities"]
DEAR_HEURISTICS = """
    alns crossover distributiondiving farkasdiving feaspump objpscostdiving randrounding rens rins
    rootsoldiving shiftandpropagate undercover
"""


class AtEachBranching(pyscipopt.Branchrule):
    """Calls a function at every branching, then branches on the most fractional candidate."""

    def __init__(self, visit, stop_after):
        self.visit = visit
        self.stop_after = stop_after
        self.calls = 0
        self.error = None

    def branchexeclp(self, allowaddcons):
        model = self.model
        try:
            self.visit(model)
        except (Exception, AssertionError) as error:  # noqa: BLE001 - raised again outside SCIP
            self.error = error
            model.interruptSolve()
            return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}
        variables, _, fractions, n, _, _ = model.getLPBranchCands()
        probindex, _ = FeatureExtractor(model, frozenset()).extract()
        keys = [(-round(min(f, 1 - f), 6), index) for f, index in zip(fractions[:n], probindex, strict=True)]
        model.branchVar(variables[min(range(n), key=keys.__getitem__)])
        self.calls += 1
        if self.calls >= self.stop_after:
            model.interruptSolve()
        return {"result": pyscipopt.SCIP_RESULT.BRANCHED}


def visit_branchings(path, visit, stop_after=3, **settings):
    """Solve with `visit` called at each branching; raise what it raised; return the number of calls."""
    model = read_model(path)
    apply(SolveSettings(**settings), model)
    rule = AtEachBranching(visit, stop_after)
    model.includeBranchrule(rule, "visit", "", 10_000_000, -1, 1.0)
    model.optimize()
    if rule.error is not None:
        raise rule.error
    return rule.calls


@pytest.mark.parametrize("family", long_but(GOLDEN_FAMILIES, ("cauctions", "indset")))
def test_features_equal_the_goldens_at_the_first_branchings(family, golden_dir):
    with np.load(golden_dir / f"{family}_0.npz") as file:
        golden = dict(file)
    extractor = []
    step = 0

    def compare(model):
        nonlocal step
        if not extractor:
            extractor.append(FeatureExtractor(model))
        probindex, features = extractor[0].extract()
        np.testing.assert_array_equal(probindex, golden[f"probindex_{step}"])
        np.testing.assert_allclose(features, golden[f"X_{step}"], rtol=1e-9, atol=1e-12)
        step += 1

    path = golden_dir / f"{family}_0.mps.gz"
    assert visit_branchings(path, compare, GOLDEN_BRANCHINGS, solver="paper") > 0
    assert step == sum(name.startswith("X_") for name in golden)


def test_wanted_columns_are_the_same_as_in_the_full_matrix_and_others_are_zero(knapsacks):
    rng = np.random.default_rng(0)
    drawn = (rng.choice(BRANCHING.n_features, size, replace=False).tolist() for size in (1, 2, 3, 6, 12))
    subsets = [*map(frozenset, drawn), *(frozenset({feature.index}) for feature in FEATURES)]
    everything = frozenset(range(BRANCHING.n_features))

    def compare(model):
        _, full = FeatureExtractor(model, everything).extract()
        for subset in subsets:
            _, part = FeatureExtractor(model, subset).extract()
            wanted = sorted(subset)
            np.testing.assert_array_equal(part[:, wanted], full[:, wanted])
            assert not np.delete(part, wanted, axis=1).any()

    assert visit_branchings(knapsacks[0].path, compare, 2) == 2


def test_static_features_are_those_of_the_first_call(knapsacks):
    kept = {}
    extractor = []
    static = [feature.index for feature in FEATURES if feature.static]

    def compare(model):
        if not extractor:
            extractor.append(FeatureExtractor(model))
        probindex, features = extractor[0].extract()
        for index, row in zip(probindex.tolist(), features[:, static], strict=True):
            np.testing.assert_array_equal(kept.setdefault(index, row), row)

    assert visit_branchings(knapsacks[0].path, compare, 6) == 6


@pytest.mark.parametrize("family", long_but(GOLDEN_FAMILIES, ["cauctions"]))
def test_what_is_kept_between_branchings_is_what_would_be_taken_anew(family, golden_dir):
    rng = np.random.default_rng(0)
    extractor = []
    changing = sorted({feature.index for feature in FEATURES if not feature.static} - {33, 34, 35})
    everything = frozenset(range(BRANCHING.n_features))
    rows = []

    def compare(model):
        if not extractor:
            extractor.append(FeatureExtractor(model, everything))
        rows.append({row.name for row in model.getLPRowsData()})
        if rng.random() < 0.3:  # a branching it was not asked at
            return
        _, kept = extractor[0].extract()
        _, anew = FeatureExtractor(model, everything).extract()
        np.testing.assert_allclose(kept[:, changing], anew[:, changing], rtol=1e-9, atol=1e-12)

    branchings = 6 if family == "facilities" else 20
    cuts_everywhere = {"separating/poolfreq": 1, "separating/maxrounds": 3, "separating/gomory/freq": 1}
    # They find solutions, not rows, and take most of the root's time.
    no_heuristics = dict.fromkeys((f"heuristics/{name}/freq" for name in DEAR_HEURISTICS.split()), -1)
    params = cuts_everywhere | no_heuristics
    visit_branchings(golden_dir / f"{family}_0.mps.gz", compare, branchings, solver="default", params=params)
    assert any(one != other for one, other in pairwise(rows))


def test_extract_before_solving_says_when_features_exist(golden_dir):
    model = read_model(golden_dir / "cauctions_0.mps.gz")
    with pytest.raises(SolverError, match="only while SCIP is branching"):
        FeatureExtractor(model).extract()


@pytest.mark.long
def test_extractors_give_their_memory_back(golden_dir):
    process = psutil.Process()

    def hundred_extractors(model):
        for _ in range(100):
            FeatureExtractor(model).extract()
        gc.collect()
        before = process.memory_info().rss
        for _ in range(400):
            FeatureExtractor(model).extract()
        gc.collect()
        # An extractor of this model holds about a megabyte.
        assert process.memory_info().rss - before < 50e6

    visit_branchings(golden_dir / "cauctions_0.mps.gz", hundred_extractors, 1)
