"""The offline grammar: what is written is read back, rules are sound and differ, and a seed decides everything."""

import hashlib

import numpy as np
import pytest

from bife_core.language.components import BRANCHING
from bife_core.language.rules import REFERENCE_RULES, CompiledRule, compile_rule, rule_sha
from bife_core.search import ReflectionRequest, Sample, SampleRequest
from bife_core.search.generators import PromptContext
from bife_core.search.generators.offline import OfflineGenerator, operators
from bife_core.search.generators.offline.expression import (
    CancelledError,
    Leaf,
    Operation,
    centred,
    join_of,
    joined,
    leaves,
    normalised,
    product,
    replaced,
    signed,
    terms_of,
    walk,
)
from bife_core.search.generators.offline.source import describe, read, write
from bife_core.search.generators.prompting import OPERATORS

ABOUT, sample_rule = PromptContext(benchmark="any"), operators.sample_rule
SLACK, UP, DOWN = Leaf(18), Leaf(20), Leaf(21)


def request(operator, seed, *parents):
    shown = tuple(
        Sample(id=str(i), generation=0, operator="i1", source=source) for i, source in enumerate(parents)
    )
    return SampleRequest(id=f"{operator}-{seed}", generation=1, operator=operator, seed=seed, parents=shown)


def source(operator, seed, *parents):
    draft = OfflineGenerator().generate(request(operator, seed, *parents), ABOUT)
    assert (draft.failure, draft.model) == (None, "offline grammar")
    assert draft.source is not None
    return draft.source


def family(count):
    """Yield sources, children of children included."""
    pool = [source("i1", seed) for seed in range(8)]
    for seed in range(count):
        operator = OPERATORS[seed % len(OPERATORS)]
        parents = (pool[(3 * seed) % len(pool)], pool[(5 * seed + 1) % len(pool)])
        pool[seed % len(pool)] = source(operator, seed, *parents[: 2 if operator.startswith("e") else 1])
        yield pool[seed % len(pool)]


def plausible_features(rng, n):
    """Return features as they may come: often 0, scales far apart, negative where they can be."""
    X = np.exp(rng.normal(0.0, 3.0, (n, BRANCHING.n_features)))
    X[rng.random((n, BRANCHING.n_features)) < 0.3] = 0.0
    for index in range(BRANCHING.n_features):
        if signed(Leaf(index)):
            X[:, index] *= -1.0
        if centred(Leaf(index)):
            X[:, index] = rng.uniform(-1.0, 1.0, n)
    X[:, 18] = rng.uniform(1e-6, 0.5, n)
    X[:, 19] = rng.uniform(1e-6, 1.0, n)
    return X


def test_many_generations_stay_within_the_grammar_and_are_diverse():
    made = list(family(200))
    for text in made:
        tree = read(text)
        assert tree is not None
        assert write(tree) == text
    assert len({rule_sha(text) for text in made}) > 0.95 * len(made)


def test_rules_compile_and_distinguish_plausible_candidates():
    rng = np.random.default_rng(0)
    X = plausible_features(rng, 500)
    unknown = X[:50].copy()
    unknown[:, 20:29] = 0.0  # before anything is known of pseudocosts
    for text in list(family(200))[::20]:
        rule = compile_rule(text)
        assert isinstance(rule, CompiledRule), rule
        scores = rule.score(X)
        assert np.isfinite(scores).all()
        assert len(np.unique(scores)) > len(scores) / 2
        assert len(np.unique(rule.score(unknown))) > 1


@pytest.mark.parametrize(
    "root",
    [
        Leaf(18),
        product((SLACK, -1.0)),
        product((SLACK, -0.5), (UP, 2.0), (DOWN, -1.0)),
        joined("sum", (SLACK, 1.0), (UP, 0.25)),
        *(Operation(kind, (UP, DOWN)) for kind in ("min", "max", "geometric", "harmonic")),
        *(Operation(kind, (UP,), (0.5,)) for kind in ("log1p", "tanh", "saturation", "bonus")),
        Operation("bonus", (joined("sum", (SLACK, 1.0), (UP, 1e-5)),), (1e16,)),
        product((Operation("min", (product((UP, 2.0), (DOWN, 1.0)), SLACK)), 1.0), (SLACK, 0.5)),
    ],
)
def test_what_is_written_is_read_back_exactly(root):
    assert read(write(root)) == root
    assert isinstance(compile_rule(write(root)), CompiledRule)


@pytest.mark.parametrize("text", ["", "x (", "def f(): pass", *(r.source for r in REFERENCE_RULES.values())])
def test_other_texts_are_no_trees_of_the_grammar(text):
    tree = read(text)
    assert tree is None or write(tree) == text


def test_a_formula_is_described_in_the_names_of_the_features():
    root = product((Operation("log1p", (joined("sum", (UP, 1.0), (DOWN, 2.0)),), (0.5,)), 1.0), (SLACK, -2.0))
    assert describe(root) == "log(1 + 0.5 (pseudocost_up + 2 pseudocost_down)) / slack^2"
    assert describe(product((SLACK, -1.0))) == "1 / slack"


def test_products_and_sums_are_opened_joined_and_normalised():
    assert product((product((UP, 2.0), (SLACK, 1.0)), 0.5), (UP, 1.0)) == product((UP, 2.0), (SLACK, 0.5))
    assert joined("sum", (UP, 1.0), (UP, 2.0)) == UP
    assert normalised(product((UP, -1.0), (SLACK, 2.0))) == product((UP, -0.5), (SLACK, 1.0))
    assert replaced(product((UP, 1.0), (SLACK, 1.0)), SLACK, UP) == product((UP, 2.0))
    with pytest.raises(CancelledError):
        product((UP, 1.0), (UP, -1.0))


@pytest.mark.parametrize("seed", range(10))
def test_each_operator_does_what_it_is_for(seed):
    rng = np.random.default_rng(seed)
    one, other = sample_rule(rng), sample_rule(rng)
    read_by_parents = {*leaves(one), *leaves(other)}
    tuned = operators.tune(rng, one)
    assert tuned != one
    if any(isinstance(part, Operation) and part.numbers for part in walk(one)):
        assert (leaves(tuned), join_of(tuned)) == (leaves(one), join_of(one))
    varied = operators.vary(rng, one)
    assert varied != one
    assert len({*leaves(varied)} ^ {*leaves(one)}) <= 3, "one part changed"
    crossed = operators.recombine(rng, (one, other), most=4)
    assert len(terms_of(crossed)) <= 5
    assert read_by_parents & {*leaves(crossed)}
    fresh, distance = sample_rule(np.random.default_rng(100 + seed)), operators.distance
    explored = operators.explore(np.random.default_rng(100 + seed), (one,))
    assert distance(explored, one) >= distance(fresh, one)


def test_only_offered_features_are_drawn():
    rng = np.random.default_rng(0)
    offered = tuple(map(Leaf, (18, 19, 20, 21, 24, 48)))
    rule = sample_rule(rng, offered)
    for _ in range(100):
        rule = operators.vary(rng, rule, offered)
        assert set(leaves(rule)) <= set(offered)


@pytest.mark.parametrize("operator", [*OPERATORS, "of_another_package"])
def test_a_seed_decides_everything_and_any_text_can_be_a_parent(operator):
    parents = (source("i1", 1), source("i1", 2))
    assert source(operator, 7, *parents) == source(operator, 7, *parents)
    assert len({source(operator, seed, *parents) for seed in range(20)}) > 10
    foreign = "def candidate_variable_score(f):\n    return 1.5 if f[18] > f[19] else f[20]\n"
    for shown in ((), ("", "nonsense ("), (foreign,)):
        assert isinstance(compile_rule(source(operator, 5, *shown)), CompiledRule)
    if operator in ("m2", "e2"):
        child = read(source(operator, 5, foreign))
        assert child is not None
        assert set(map(Leaf, (18, 19, 20))) & set(leaves(child)), "a foreign parent lends its features"


def test_a_seed_writes_the_same_in_every_process():
    """Whatever the seed of its hashes, which each process draws."""
    written = "".join(family(40))
    assert hashlib.sha256(written.encode()).hexdigest()[:16] == "b393f0fd8abb0e2f"


def test_a_reflection_names_what_only_the_better_rule_reads():
    worse, better = write(product((SLACK, 1.0), (UP, 1.0))), write(product((SLACK, 1.0), (DOWN, 1.0)))
    shown = request("e2", 0, worse, better).parents
    asked = ReflectionRequest(id="r", generation=1, operator="why", parents=shown, seed=0)
    assert OfflineGenerator().generate(asked, ABOUT).text == "Favour pseudocost_down."
    hints = ReflectionRequest(id="r", generation=1, operator="why", hints=("A.", "B.", "A."), seed=0)
    assert OfflineGenerator().generate(hints, ABOUT).text == "A. B."
