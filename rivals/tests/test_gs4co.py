"""GS4CO: expressions over the bipartite graph and their types, machine code, the transformer, training, the search."""

import json
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import bife_core
from bife_core import InProcess, solve
from bife_core.base.errors import ConfigError, RuleError
from bife_core.extend.testing import check_method
from bife_core.measure.config import LowFidelityConfig
from bife_core.measure.decisions.nodes import nodes_of
from bife_core.measure.decisions.recorded import Decisions
from bife_core.measure.low import score_low
from bife_core.run.config import SearchConfig
from bife_rivals.graph_rule import GraphRule
from bife_rivals.gs4co import Gs4CoSearch
from bife_rivals.gs4co_grammar import GraphGrammar, GraphWalk
from bife_rivals.gs4co_samples import GraphSamples
from bife_rivals.symb4co_training import Run, judged, trained

learned = pytest.mark.skipif(find_spec("jax") is None, reason="training needs the extra `learned`")
GRAMMAR = GraphGrammar()
QUICK = {"batch": 32, "kept": 8, "validated": 8, "validate_every": 2, "epochs": 2, "rate": 0.003}
SMALL = QUICK | {"steps": 6, "soft_length": 6, "most_length": 16, "hidden": 8}


@pytest.fixture(scope="module")
def instance(auctions):
    return auctions.instances("test", 1)[0]


def drawn(seed, count, grammar=GRAMMAR):
    """Return expressions drawn by the masks and the soft length alone."""
    rng, walk = np.random.default_rng(seed), GraphWalk(grammar, count)
    steps, done = [], np.zeros(count, dtype=bool)
    while not done.all():
        # The largest logit with Gumbel noise is a draw from their softmax.
        steps.append(np.argmax(walk.added() + rng.gumbel(size=(count, grammar.tokens)), axis=1))
        walk.add(steps[-1])
        done |= walk.missing == 0
    return [tokens[: grammar.end(tokens, 0)] for tokens in np.transpose(steps).tolist()]


@pytest.mark.parametrize("seed", range(5))
def test_expressions_have_right_types_and_lengths_and_their_text_is_read_back(seed):
    small = GraphGrammar(least=5, most=12, soft_length=7)
    for grammar in (GRAMMAR, small):
        for tokens in drawn(seed, 100, grammar):
            assert grammar.least <= len(tokens) <= grammar.most
            assert any(token < grammar.variables for token in tokens)
            # Reading asserts the types: it takes a feature only where it may stand.
            assert grammar.parsed(grammar.formula(tokens)) == tokens


def test_machine_code_computes_what_a_plain_evaluation_does(recorded):
    nodes = list(nodes_of(recorded.path))
    decisions = Decisions.load(recorded.path)
    samples = GraphSamples(decisions, nodes, np.float64)
    every = (
        "v.value - mean(2.0) * min(r.dual - e.value * max(v.objective)) + sum(r.tight) * max(min(e.value))"
    )
    for tokens in (GRAMMAR.parsed(every), *drawn(1, 1, GraphGrammar(soft_length=16))):
        rule = GraphRule(name="rule", formula=GRAMMAR.formula(tokens))
        scores = np.concatenate([rule.score(node) for node in nodes])
        np.testing.assert_allclose(
            scores, samples.scores(tuple(tokens)), rtol=1e-9, atol=1e-12, err_msg=rule.formula
        )
    node, by_hand = nodes[0], samples.scores(tuple(GRAMMAR.parsed("sum(e.value * r.dual)")))
    duals = node.edge_values.astype(float) * node.rows[node.edge_rows, 4]
    expected = np.bincount(node.edge_variables, duals, len(node.variables))[node.candidates]
    np.testing.assert_allclose(by_hand[: len(expected)], expected, rtol=1e-9, atol=1e-12)


def test_a_graph_rule_is_a_method_with_rpb_from_its_depth_on(instance, tmp_path):
    formula = "v.fraction * sum(r.tight * mean(v.objective))"
    check_method(GraphRule(name="rule", formula=formula))
    (tmp_path / "mine.json").write_text(json.dumps({"kind": "graph_rule", "formula": formula, "depth": None}))
    without = bife_core.load_method(tmp_path / "mine.json")
    rules = (GraphRule(name="x", formula=formula, depth=1), without)
    calls = [solve(instance.path, rule, seed=0, node_limit=30).calls for rule in rules]
    assert calls[0] <= 2 < calls[1], "of the nodes the root alone is above depth 1, once more after a restart"
    assert GraphRule(name="x", formula="v.fraction - 0.5").graph == "never"


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("r.dual", "at a variable was expected, and 'r.dual'"),
        ("sum(v.value)", "in a message to a variable was expected, and 'v.value'"),
        ("v.value / 2", "'v.value / 2' found"),
        ("__import__('os')", "found"),
        ("v.value +", "a formula was expected"),
    ],
)
def test_what_is_no_expression_is_refused_with_a_sentence(formula, why, tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps({"kind": "graph_rule", "formula": formula}))
    with pytest.raises(RuleError, match=why.replace("(", r"\(")):
        bife_core.load_method(tmp_path / "mine.json")


@learned
@pytest.mark.slow
def test_the_probability_of_what_was_written_is_that_of_training_and_an_update_favours_what_paid():
    from bife_rivals.gs4co_training import GraphPolicy, loss
    from bife_rivals.symb4co_policy import Objective

    policy = GraphPolicy(GraphGrammar(most=16, soft_length=7), 8, np.random.default_rng(1))
    batch = policy.sample(np.random.default_rng(2), 32)[np.arange(8)]  # shapes that are compiled below too
    objective, advantages = Objective(entropy=0.0), np.zeros(8)

    def losses():
        given = (batch.tokens, batch.lengths, batch.log_probability, batch.places, batch.added)
        return [float(loss(policy.parameters, (*given, one), objective)) for one in np.eye(8)]

    # At a ratio of one, whatever memory the sampler kept.
    np.testing.assert_allclose(losses(), -1 / 8, rtol=1e-4)
    advantages[0] = 1.0
    for _ in range(10):
        policy.update(batch, advantages, objective, rate=0.001)
    assert losses()[0] < -1.01 / 8


@learned
@pytest.mark.slow
def test_training_gets_better_judges_by_f_lf_and_resumes_to_the_same_weights(recorded, tmp_path, goes_on):
    from bife_rivals.gs4co_training import GraphTraining

    run = Run(seed=3, **SMALL | {"steps": 51, "validate_every": 10, "rate": 0.03})
    whole = trained(GraphTraining(run, recorded.path), tmp_path)
    assert whole.history[-1]["mean_accuracy"] > 1.2 * whole.history[0]["mean_accuracy"]
    goes_on(whole, lambda: GraphTraining(run, recorded.path), steps=25)
    batch = whole.policy.sample(np.random.default_rng(0), 3)
    accuracy, _ = judged([*whole.judges[0], *whole.judges[1]], batch)
    for row in range(3):
        text = whole.method(batch.expression(row), None).model_dump_json(exclude={"name", "budget"})
        f_lf = score_low(text, recorded.path, LowFidelityConfig(), InProcess(), method=True).f_lf
        assert f_lf == pytest.approx(accuracy[row])


@learned
@pytest.mark.slow
def test_what_is_found_solves(recorded, instance, tmp_path):
    options = SMALL | {"steps": 2, "runs": 1, "rules": 2}
    search = SearchConfig(algorithm="gs4co", samples=2, initial=1, options=options)
    config = bife_core.preset("quick").model_copy(update={"search": search})
    given = {"instances": [instance], "decisions": recorded, "workers": InProcess()}
    found = bife_core.create_study(config, folder=tmp_path, **given).run()
    assert [sample.failure for sample in found.samples] == [None, None]
    assert found.best is not None
    assert json.loads(found.best.source or "")["kind"] == "graph_rule"
    assert bife_core.create_study(config, folder=tmp_path, **given).run().best == found.best


def test_what_is_missing_is_said_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "bife_rivals.gs4co_training", raising=False)
    sentence = r"gs4co trains with jax, which is not installed; run pip install 'bife-rivals\[learned\]'"
    with pytest.raises(ConfigError, match=sentence):
        Gs4CoSearch.train(tmp_path, tmp_path, {})
