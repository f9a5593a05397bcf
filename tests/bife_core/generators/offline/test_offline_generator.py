from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from bife_core.features import N_FEATURES
from bife_core.generators import PromptContext
from bife_core.generators.offline import OfflineGenerator
from bife_core.generators.offline.expression import centred, signed
from bife_core.generators.offline.reader import read
from bife_core.generators.prompting import OPERATORS
from bife_core.rules import CompiledRule, compile_rule, rule_sha
from bife_core.search import Sample, SampleRequest

PLAIN = OfflineGenerator()


def request(operator: str, seed: int, parents: tuple[str, ...] = ()) -> SampleRequest:
    shown = tuple(
        Sample(id=str(i), generation=0, operator="i1", source=source) for i, source in enumerate(parents)
    )
    return SampleRequest.model_validate(
        {"id": f"{operator}-{seed}", "generation": 1, "operator": operator, "seed": seed, "parents": shown}
    )


def source(
    operator: str, seed: int, parents: tuple[str, ...] = (), generator: OfflineGenerator = PLAIN
) -> str:
    generation = generator.generate(request(operator, seed, parents), PromptContext(benchmark="any"))
    assert generation.failure is None
    assert generation.source is not None
    return generation.source


def family(count: int) -> Iterator[tuple[str, str]]:
    """Yield operators with sources, children of children included."""
    pool = [source("i1", seed) for seed in range(8)]
    for seed in range(count):
        operator = OPERATORS[seed % len(OPERATORS)]
        parents = (pool[(3 * seed) % len(pool)], pool[(5 * seed + 1) % len(pool)])
        child = source(operator, seed, parents[: 2 if operator.startswith("e") else 1])
        pool[seed % len(pool)] = child
        yield operator, child


def plausible_features(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return features as they may come: often 0, scales far apart, negative where they can be."""
    X = np.exp(rng.normal(0.0, 3.0, (n, N_FEATURES)))
    X[rng.random((n, N_FEATURES)) < 0.3] = 0.0
    for index in range(N_FEATURES):
        if signed(index):
            X[:, index] *= -1.0
        if centred(index):
            X[:, index] = rng.uniform(-1.0, 1.0, n)
    X[:, 18] = rng.uniform(1e-6, 0.5, n)
    X[:, 19] = rng.uniform(1e-6, 1.0, n)
    return X


def test_all_sources_over_many_generations_stay_within_the_grammar_and_are_diverse() -> None:
    made = list(family(200))
    assert all(read(text) is not None for _, text in made)
    assert len({rule_sha(text) for _, text in made}) > 0.95 * len(made)


def test_sources_compile_to_native_code_and_score_plausible_features_finitely() -> None:
    rng = np.random.default_rng(0)
    made = list(family(200))
    X = plausible_features(rng, 500)
    for _, text in made[::20]:
        rule = compile_rule(text)
        assert isinstance(rule, CompiledRule), rule
        scores = rule.score(X)
        assert np.isfinite(scores).all()
        assert len(np.unique(scores)) > len(scores) / 2


def test_rules_tell_candidates_apart_before_anything_is_known_of_them() -> None:
    X = plausible_features(np.random.default_rng(1), 50)
    X[:, 20:29] = 0.0
    for seed in range(8):
        rule = compile_rule(source("i1", seed))
        assert isinstance(rule, CompiledRule), rule
        assert len(np.unique(rule.score(X))) > 1


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_seed_decides_everything(operator: str) -> None:
    parents = (source("i1", 1), source("i1", 2))
    one = PLAIN.generate(request(operator, 7, parents), PromptContext(benchmark="any"))
    assert one == OfflineGenerator().generate(request(operator, 7, parents), PromptContext(benchmark="any"))
    assert len({source(operator, seed, parents) for seed in range(20)}) > 15


def test_another_process_with_another_hash_seed_writes_the_same() -> None:
    program = (
        "from bife_core.search import Sample, SampleRequest\n"
        "from bife_core.generators.prompt_context import PromptContext\n"
        "from bife_core.generators.offline import OfflineGenerator\n"
        "generator, parents = OfflineGenerator(), ()\n"
        "for seed, operator in enumerate(('i1', 'i1', 'e1', 'e2', 'm1', 'm2')):\n"
        "    asked = dict(id='k', generation=0, operator=operator, seed=seed, parents=parents)\n"
        "    made = generator.generate(SampleRequest(**asked), PromptContext(benchmark='any'))\n"
        "    print(made.thought, made.source)\n"
        "    parents = (*parents, Sample(id=str(seed), generation=0, operator='i1', source=made.source))[-2:]\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert printed[0] == printed[1] != ""


def test_it_says_what_it_is() -> None:
    generation = PLAIN.generate(request("i1", 0), PromptContext(benchmark="any"))
    assert (generation.generator, generation.model) == ("offline", "offline grammar")
    assert generation.attempts == ()
    assert generation.messages == ()


def test_the_thought_tells_the_operator_and_the_formula() -> None:
    parents = (source("i1", 1), source("i1", 2))
    assert str(
        PLAIN.generate(request("m2", 3, parents[:1]), PromptContext(benchmark="any")).thought
    ).startswith("The parent with other numbers: ")
    assert str(PLAIN.generate(request("e2", 3, parents), PromptContext(benchmark="any")).thought).startswith(
        "Parts of the parents joined: "
    )


@pytest.mark.parametrize("operator", ["e1", "e2", "m1", "m2"])
def test_without_parents_every_operator_starts_afresh(operator: str) -> None:
    assert read(source(operator, 5)) is not None


@pytest.mark.parametrize("operator", OPERATORS)
def test_any_text_can_be_a_parent(operator: str) -> None:
    foreign = "def candidate_variable_score(f):\n    return 1.5 if f[18] > f[19] else f[20]\n"
    for parent in ("", "nonsense (", foreign):
        assert isinstance(compile_rule(source(operator, 5, (parent, parent))), CompiledRule)


def test_numbers_of_a_parent_outside_the_grammar_are_tuned_in_its_own_text() -> None:
    parent = (
        "def candidate_variable_score(f):\n    # far from integral\n    if f[18] > 0.3:\n"
        "        return 2.0 * f[20]\n    return f[21]\n"
    )
    child = source("m2", 1, (parent,))
    assert child != parent
    assert "# far from integral" in child
