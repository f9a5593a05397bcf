"""What is fitted: exponents that are known, and formulas that are found again."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bife_core.measure.decisions.recorded import Decisions
from bife_core.measure.low import low_fidelity
from bife_core.search.generators.offline.expression import (
    Leaf,
    Operation,
    leaves,
    product,
    role,
    terms_of,
    walk,
)
from bife_core.search.generators.offline.operators import sample_rule
from bife_core.search.generators.offline.source import write
from bife_core.search.symbolic.drafting import breed, fit_rules, form_of
from bife_core.search.symbolic.fitting import Columns, ConditionalLogit, Fitter
from bife_core.solver.methods.scorer import RuleMethod
from tests.support.recorded import planted

EXPERT = product((Leaf(18), 1.0), (Leaf(24), 0.5), (Leaf(48), -0.75))
SURE = planted(200, EXPERT)
DOUBTING = planted(400, EXPERT, doubt=0.3)


def accuracy(root, decisions):
    return low_fidelity(RuleMethod(name="rule", source=write(root)), decisions)


def test_newtons_method_ends_where_another_optimiser_does():
    columns = Columns(DOUBTING)
    logit = ConditionalLogit(columns, ridge=0.01)
    known = np.array([np.log(columns.value(Leaf(feature))) for feature in (18, 24, 48)])
    weights, loss = logit.fit(known, np.zeros(3))
    other = minimize(lambda w: logit.loss(w @ known) + 0.01 * w @ w, np.zeros(3), method="BFGS")
    np.testing.assert_allclose(weights, other.x, atol=2e-3)
    assert loss == pytest.approx(other.fun, abs=1e-6)


def test_ties_of_the_expert_count_alike_and_probabilities_add_up():
    tied = planted(30, Operation("min", (Leaf(18), Leaf(18))))
    tied = Decisions(**{**vars(tied), "scores": np.ones(tied.n_candidates)})
    columns = Columns(tied)
    logit = ConditionalLogit(columns, ridge=0.0)
    np.testing.assert_allclose(logit.target, 1.0 / 12)
    likely = logit.probabilities(1000.0 * np.log(columns.value(Leaf(24))))
    np.testing.assert_allclose(np.add.reduceat(likely, columns.starts), 1.0)


def test_the_exponents_of_an_expert_are_found():
    fitted = Fitter(Columns(DOUBTING)).fit(product(*((node, 1.0) for node, _ in terms_of(EXPERT))))
    assert dict(terms_of(fitted.root)) == pytest.approx(dict(terms_of(EXPERT)), rel=0.15)


def test_the_factors_of_an_expert_are_selected_from_nothing():
    path = Fitter(Columns(SURE)).select(3)
    assert [len(terms_of(fitted.root)) for fitted in path] == [1, 2, 3]
    assert set(leaves(path[-1].root)) == set(map(Leaf, (18, 24, 48)))
    assert accuracy(path[-1].root, SURE) > 0.8
    assert path[0].loss > path[1].loss > path[2].loss


def test_each_niche_does_without_the_roles_that_those_before_it_begin_with():
    fitter = Fitter(Columns(DOUBTING))
    begins = []
    for niche in range(3):
        path = fitter.select(2, niche)
        begins.append(role(leaves(path[0].root)[0]))
        bred = fit_rules(fitter, np.random.default_rng(0), terms=3, children=60, niche=niche)
        for fitted in (*path, *bred):
            assert set(map(role, leaves(fitted.root))).isdisjoint(begins[:niche])
    assert begins[0] in map(role, map(Leaf, (18, 24, 48)))
    assert len(set(begins)) == 3


def test_niches_are_counted_anew_where_no_feature_is_left():
    columns = np.ones_like(DOUBTING.columns)
    columns[[18, 24]] = DOUBTING.columns[[18, 24]]
    fitter = Fitter(Columns(Decisions(**{**vars(DOUBTING), "columns": columns})))
    reads = [{leaf.feature for leaf in leaves(fitter.select(2, niche)[-1].root)} for niche in range(4)]
    assert reads == [{18, 24}, {24}, {18, 24}, {24}]


def test_a_factor_whose_exponent_no_number_holds_does_not_end_the_path():
    """What is worth most beside the first may hardly vary, and need so large a power that no number holds its value."""
    base = planted(150, Leaf(18))
    columns, rng = base.columns.copy(), np.random.default_rng(1)
    doubt = rng.normal(size=base.n_candidates)
    columns[6] = 1000.0 * np.exp(1e-4 * doubt)
    expert = 3.0 * np.log(np.maximum(columns[18], 1e-2)) + doubt + 0.3 * rng.normal(size=len(doubt))
    known = Decisions(**{**vars(base), "columns": columns, "scores": np.exp(expert)})
    assert [len(terms_of(fitted.root)) for fitted in Fitter(Columns(known)).select(4)] == [1, 2, 3, 4]


def test_what_distinguishes_no_candidates_is_no_rule():
    columns = DOUBTING.columns.copy()
    columns[30] = np.repeat(np.arange(len(DOUBTING)), 12)
    alike = Decisions(**{**vars(DOUBTING), "columns": columns})
    fitter = Fitter(Columns(alike))
    assert fitter.fit(Leaf(30)) is None
    fitted = fitter.fit(product((Leaf(30), 1.0), (Leaf(18), 1.0)))
    assert leaves(fitted.root) == (Leaf(18),)
    nothing = Fitter(Columns(Decisions(**{**vars(DOUBTING), "columns": np.ones_like(columns)})))
    assert fit_rules(nothing, np.random.default_rng(0), terms=3, children=0) == []
    assert fit_rules(nothing, np.random.default_rng(0), terms=3, children=5) == []


def test_breeding_finds_what_no_product_of_features_is():
    expert = product((Operation("max", (Leaf(20), Leaf(21))), 1.0), (Leaf(18), 1.0))
    fitter = Fitter(Columns(planted(300, expert, doubt=0.1)))
    path = fitter.select(3)
    bred = breed(fitter, path, np.random.default_rng(2), terms=3, children=600)
    assert bred[0].information < min(fitted.information for fitted in path) - 0.05
    for fitted in bred:  # one tried has the power 5600, and is infinite or 0 at most candidates
        values = fitter.columns.value(fitted.root)
        assert np.isfinite(values).all()
        assert values.min() > 0.0


def test_a_seed_decides_what_is_bred_and_no_rule_is_larger_than_allowed():
    fitter = Fitter(Columns(DOUBTING))

    def made(seed):
        return fit_rules(fitter, np.random.default_rng(seed), terms=2, children=60)

    assert made(3) == made(3) != made(4)
    assert all(len(terms_of(fitted.root)) <= 2 for fitted in made(3))


def test_parents_are_bred_from_and_no_rule_there_was_is_given_back():
    joined = Operation("max", (Leaf(20), Leaf(21)))
    parent = product((joined, 1.0), (Leaf(18), 1.0))
    fitter = Fitter(Columns(planted(100, parent, doubt=0.1)))
    foreign = "def candidate_variable_score(f):\n    return 1.0 if f[18] > f[19] else f[20]\n"
    given = {"terms": 4, "children": 100, "parents": [write(parent), foreign]}

    def bred(known):
        return [fitted.root for fitted in fit_rules(fitter, np.random.default_rng(0), others=known, **given)]

    first = bred([foreign])
    assert any(joined in walk(root) for root in first)
    old = {form_of(root) for root in (parent, *(fitted.root for fitted in fitter.select(4)))}
    assert old.isdisjoint(map(form_of, first))
    assert bred([write(first[0]), write(first[2])]) == [first[1], *first[3:]]


DECISIONS = planted(5, product((Leaf(18), 1.0)))


@pytest.mark.parametrize("seed", range(8))
def test_a_formula_has_the_values_of_the_rule_it_is_written_as(seed):
    root = sample_rule(np.random.default_rng(seed))
    rule = RuleMethod(name="rule", source=write(root)).compiled
    found = Columns(DECISIONS).value(root)
    np.testing.assert_allclose(found, rule.score(DECISIONS.matrix), rtol=1e-9)


def test_values_are_kept_and_not_mixed_up():
    columns = Columns(DECISIONS)
    many = [Operation("bonus", (Leaf(24),), (1.0 + i / 1000,)) for i in range(600)]
    first = columns.value(many[0]).copy()
    for node in many:
        columns.value(node)
    np.testing.assert_array_equal(columns.value(many[0]), first)
