"""Symb4CO: its expressions and their masks, the network's gradient, a run of training, the search, and its rules."""

import numpy as np
import pytest

from bife_core import low_fidelity, solve
from bife_core.base.errors import RuleError
from bife_core.extend.testing import World, check_method, drive
from bife_core.language.components import BRANCHING
from bife_core.measure.decisions.recorded import concatenate
from bife_core.run.config import SearchConfig
from bife_core.search import open_search
from bife_core.solver.methods.references import method_of
from bife_rivals.scaled_rule import ScaledRule, scaled
from bife_rivals.symb4co import Symb4CoSearch
from bife_rivals.symb4co_grammar import Grammar, Walk
from bife_rivals.symb4co_policy import Objective, Policy
from bife_rivals.symb4co_training import Run, ScaledSamples, Training, judged, split, trained
from tests.support.recorded import decisions_of

SMALL = Grammar(variables=3, least=5, most=16, soft_length=7)
QUICK = {"batch": 64, "kept": 8, "validated": 8, "hidden": 8, "rate": 0.01, "steps": 30, "validate_every": 3}


def written(grammar, count=300, seed=0):
    """Return expressions of a network that has learnt nothing."""
    policy = Policy(grammar, 6, np.random.default_rng(seed), np.float64)
    return policy.sample(np.random.default_rng(seed + 1), count)


@pytest.fixture(scope="module")
def easy():
    """Two instances on which the expert takes the largest product of two features, as scaled at each node."""
    rng = np.random.default_rng(0)
    parts = []
    for name in "ab":
        sizes = rng.integers(2, 12, 80)
        columns = rng.exponential(size=(BRANCHING.n_features, int(sizes.sum())))
        part = decisions_of(sizes.tolist(), np.zeros(columns.shape[1]), columns=columns, instance=name)
        nodes = [scaled(X) for X in np.split(part.matrix, part.offsets[1:-1])]
        scores = np.concatenate([X[:, 20] * X[:, 21] for X in nodes])
        parts.append(decisions_of(sizes.tolist(), scores, columns=columns, instance=name))
    return concatenate(parts)


def relations(grammar, tokens):
    """Yield parent and sibling of each token by building the tree."""
    rest = iter(range(len(tokens)))
    none = grammar.tokens

    def descend(parent, sibling):
        token = tokens[next(rest)]
        found = [(parent, sibling)]
        if token >= grammar.leaves:
            first, left = descend(token, none)
            _, right = descend(token, first)
            found += left + right
        return token, found

    yield from descend(none, none)[1]


def test_expressions_are_complete_within_their_lengths_and_have_a_variable():
    batch = written(SMALL)
    for row in range(len(batch.lengths)):
        tokens = batch.expression(row)
        assert SMALL.least <= len(tokens) <= SMALL.most
        assert sum(token >= SMALL.leaves for token in tokens) == len(tokens) // 2
        assert len(list(relations(SMALL, tokens))) == len(tokens)
        assert any(token < SMALL.variables for token in tokens)
    assert len({batch.lengths[row] for row in range(len(batch.lengths))}) > 3
    # The prior is what keeps lengths together.
    assert abs(np.median(batch.lengths) - SMALL.soft_length) <= 2


def test_masks_leave_what_can_still_become_an_expression():
    tiny = Grammar(variables=1, least=3, most=5)
    leaf, constant, operator = 0, 1, tiny.leaves

    def allowed(length, missing, has_variable):
        row = tiny.allowed(length, np.array([missing]), np.array([has_variable]))[0]
        return row[leaf], row[constant], row[operator]

    assert allowed(0, 1, False) == (False, False, True), "too short otherwise"
    assert allowed(1, 2, False) == (True, True, True)
    assert allowed(2, 3, False) == (True, True, False), "too long otherwise"
    assert allowed(2, 1, False) == (True, False, True), "the last operand has to be a variable"
    assert allowed(4, 1, True) == (True, True, False)


def test_parent_and_sibling_are_those_of_the_tree():
    batch = written(SMALL, 60)
    walk = Walk(SMALL, len(batch.lengths))
    seen = [[] for _ in batch.lengths]
    for step in range(batch.tokens.shape[1]):
        for row, length in enumerate(batch.lengths):
            if step < length:
                seen[row].append((int(walk.parent[row]), int(walk.sibling[row])))
        walk.add(batch.tokens[:, step])
    for row, known in enumerate(seen):
        assert known == list(relations(SMALL, batch.expression(row)))


def test_a_formula_means_what_its_tokens_mean():
    batch, values = written(SMALL, 100), (0.3, 0.7, 0.11)
    for row in range(len(batch.lengths)):
        tokens = batch.expression(row)
        meant = eval(SMALL.formula(tokens, "v[{}]"), {"v": values})
        assert meant == SMALL.value(tokens, values), "to the last bit"
    assert Grammar().formula([79, 20, 0]) == "pseudocost_up - obj_coef"


def test_the_gradient_is_that_of_the_objective():
    policy = Policy(SMALL, 5, np.random.default_rng(1), np.float64)
    batch = policy.sample(np.random.default_rng(2), 30)
    rng = np.random.default_rng(3)
    for name in policy.parameters:  # so that some ratios are clipped and others are not
        policy.parameters[name] += rng.normal(0, 0.1, policy.parameters[name].shape)
    advantages, objective = rng.uniform(-1, 1, 30), Objective()
    _, gradient = policy.gradient(batch, advantages, objective)
    for name, values in policy.parameters.items():
        for place in {tuple(int(rng.integers(size)) for size in values.shape) for _ in range(6)}:
            before, losses = values[place], []
            for moved in (1e-6, -1e-6):
                values[place] = before + moved
                losses.append(policy.gradient(batch, advantages, objective)[0])
            values[place] = before
            slope = (losses[0] - losses[1]) / 2e-6
            assert slope == pytest.approx(gradient[name][place], abs=1e-8), (name, place)


def test_without_a_change_the_ratio_is_one_and_an_update_favours_what_paid():
    policy = Policy(SMALL, 8, np.random.default_rng(1), np.float64)
    batch = policy.sample(np.random.default_rng(2), 20)
    advantages = np.zeros(20)
    advantages[0] = 1.0
    objective = Objective(entropy=0.0)
    loss, _ = policy.gradient(batch, advantages, objective)
    assert loss == pytest.approx(-1 / 20)
    for _ in range(20):
        policy.update(batch, advantages, objective, rate=0.001)
    assert policy.gradient(batch, advantages, objective)[0] < loss


def test_judged_accuracy_is_the_f_lf_of_the_rule(easy):
    grammar = Grammar(soft_length=7)
    batch = written(grammar, 40)
    accuracy, choices = judged([ScaledSamples(easy[:100]), ScaledSamples(easy[100:])], batch)
    assert len(set(choices)) > 20
    for row in range(2):
        formula = grammar.formula(batch.expression(row), "f[{}]")
        rule = ScaledRule(name="rule", source=f"def candidate_variable_score(f):\n    return {formula}")
        assert low_fidelity(rule, easy) == accuracy[row], formula


def test_training_and_validation_samples_are_of_different_instances(easy):
    one, other = split(easy)
    assert ({*one.instance}, {*other.instance}) == ({"a"}, {"b"})
    assert [len(part) for part in split(easy[:70])] == [50, 20]


def test_training_imitates_and_goes_on(easy, tmp_path, goes_on):
    run = Run(seed=3, soft_length=5, **QUICK)
    whole = trained(Training(run, easy), tmp_path)
    assert whole.history[-1]["mean_accuracy"] > 1.5 * whole.history[0]["mean_accuracy"]
    assert whole.ranked[0].accuracy > 0.6
    assert len({one.choices for one in whole.ranked}) == len(whole.ranked)
    goes_on(whole, lambda: Training(run, easy), steps=11)
    other = Training(run.model_copy(update={"seed": 4}), easy)
    other.advance()
    assert other.history[0] != whole.history[0]
    (checkpoint,) = tmp_path.glob("symb4co-*.npz")
    before = checkpoint.stat().st_mtime_ns
    assert trained(Training(run, easy), tmp_path).ranked == whole.ranked
    assert checkpoint.stat().st_mtime_ns == before, "a finished run is read, not trained"
    assert len(checkpoint.with_suffix(".csv").read_text().splitlines()) == 1 + len(whole.history)


def test_a_run_ends_when_nothing_better_comes(easy):
    training = Training(Run(seed=0, **QUICK | {"steps": 1000, "patience": 6, "rate": 1e-9}), easy)
    while not training.done:
        training.advance()
    assert training.step < 1000
    assert training.waited >= 6


def search(samples=10, **options):
    return open_search(SearchConfig(algorithm="symb4co", samples=samples, initial=1, options=options))


def test_every_valid_rule_of_a_group_of_runs_is_evaluated_in_the_solver():
    asked = drive(search(runs=2, rules=3), World(seed=1, distinct=100))
    kinds = [(requests[0].kind, len(requests)) for requests in asked]
    counts = (2, 2, 4, 4, 2, 2, 2, 2)
    assert kinds == list(zip(("sample", "solve") * 4, counts, strict=True))
    trained = [one.training for some in asked for one in some if one.kind == "sample"]
    pairs = [(one["run"], one["rank"]) for one in trained]
    assert pairs == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 0), (3, 0), (2, 1), (3, 1)]
    assert len({one["seed"] for one in trained}) == len({(one["run"], one["seed"]) for one in trained}) == 4


def test_the_quick_preset_gives_way_to_what_is_set():
    (request, *_) = search(preset="quick", steps=7).ask()
    expected = {"batch": 256, "kept": 12, "steps": 7, "soft_length": 20}
    assert {name: request.training[name] for name in expected} == expected


def test_what_a_search_finds_is_a_method_with_its_depth(easy, tmp_path):
    decisions = tmp_path / "decisions.npz"
    easy.save(decisions)
    (request,) = search(samples=1, **QUICK | {"steps": 3, "depth": 5, "runs": 1}).ask()
    found = Symb4CoSearch.train(decisions, tmp_path, request.training)
    rule = method_of(found["source"], "rule")
    assert isinstance(rule, ScaledRule)
    assert (rule.name, rule.depth) == ("rule", 5)
    assert found["seconds"] > 0, "the run is charged to its first expression"
    assert low_fidelity(rule, easy) > 0
    beyond = Symb4CoSearch.train(decisions, tmp_path, request.training | {"rank": 5000})
    assert "found only" in beyond["failure"]


RULE = "def candidate_variable_score(f):\n    return (f[20] + 0.5 * f[71]) * (1 - f[3]) + max(f[18], f[0])"


def test_a_scaled_rule_reads_each_feature_relative_to_its_node():
    X = np.random.default_rng(0).normal(size=(50, BRANCHING.n_features))
    X[:, 3] = 7.0
    f = scaled(X)
    assert (f[:, 3] == 0).all()
    assert (f.min(), f.max()) == (0.0, 1.0)
    rule = ScaledRule(name="rule", source=RULE)
    plain = (f[:, 20] + 0.5 * f[:, 71]) * (1 - f[:, 3]) + np.maximum(f[:, 18], f[:, 0])
    assert rule.score(X) == pytest.approx(plain)
    assert rule.features == {0, 3, 18, 20, 71}


def test_machine_code_and_python_score_alike(easy):
    rule = ScaledRule(name="rule", source=RULE)

    class Slow(ScaledRule):
        @property
        def address(self):
            return 0

    assert low_fidelity(rule, easy) == low_fidelity(Slow(name="rule", source=RULE), easy)
    check_method(rule)


def test_rpb_branches_from_the_depth_on(auctions):
    (instance,) = auctions.instances("test", 1)
    rules = [ScaledRule(name="rule", source=RULE, depth=depth) for depth in (1, 2, None)]
    calls = [solve(instance.path, rule, seed=0, node_limit=40).calls for rule in rules]
    assert calls[0] <= 2, "of the nodes the root alone is above depth 1, once more after a restart"
    assert calls[0] < calls[1] < calls[2]


def test_a_scaled_rule_is_a_rule():
    for source, why in (("def candidate_variable_score(f): return open('x')", "open"), ("1 +", "not valid")):
        with pytest.raises((RuleError, ValueError), match=why):
            ScaledRule(name="rule", source=source)
