"""The offline generator's part in ReEvo and LLM4Branch: reflections from data, guided operators, skeletons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from bife_core.generators.briefing import Briefing
from bife_core.generators.offline import OfflineGenerator
from bife_core.generators.offline.expression import Leaf, leaves, product
from bife_core.generators.offline.guided import Hints, cross, mutate
from bife_core.generators.offline.priors import sample_rule
from bife_core.generators.offline.reader import read
from bife_core.generators.offline.reflection import read_hints
from bife_core.generators.offline.writer import write, write_skeleton
from bife_core.generators.parsing import parse_reflection, read_skeleton
from bife_core.rules.checked import check_source
from bife_core.rules.skeletons import parse_skeleton
from bife_core.rules.types import Rejection
from bife_core.search import Sample, WrittenRequest

SLACK, PRODUCT, COUNT = 18, 24, 48
WORSE = write(product((Leaf(0), 1.0), (Leaf(PRODUCT), 1.0)))
BETTER = write(product((Leaf(SLACK), 1.0), (Leaf(PRODUCT), 0.5)))


def generate(operator: str, *sources: str, seed: int = 0, hints: tuple[str, ...] = ()) -> Any:
    parents = tuple(
        Sample(id=f"p{k}", generation=0, operator="i1", source=source) for k, source in enumerate(sources)
    )
    kind = "reflection" if operator.endswith("_reflection") else "sample"
    request = {
        "kind": kind,
        "id": "k",
        "generation": 1,
        "operator": operator,
        "parents": parents,
        "hints": hints,
    }
    asked = TypeAdapter(WrittenRequest).validate_python({**request, "seed": seed})
    return OfflineGenerator().generate(asked, Briefing(benchmark="toys"))


def test_a_short_reflection_says_what_the_better_rule_reads_and_the_worse_does_not() -> None:
    written = generate("short_term_reflection", WORSE, BETTER)
    assert written.text == "Favour slack. Avoid obj_coef."
    assert (written.source, written.failure) == (None, None)


def test_rules_that_read_the_same_are_told_apart_by_their_form() -> None:
    text = generate(
        "short_term_reflection", BETTER, write(product((Leaf(SLACK), 1.0), (Leaf(PRODUCT), 2.0)))
    ).text
    assert (
        text
        == "Both read the same features; combine them as the better one does: slack x pseudocost_product^2."
    )


def test_a_long_reflection_counts_the_hints() -> None:
    hints = (
        "Favour slack. Avoid obj_coef.",
        "Favour n_rows, slack.",
        "Favour obj_coef. Avoid n_rows.",
        "Avoid obj_coef.",
    )
    assert generate("long_term_reflection", hints=hints).text == "Favour slack. Avoid obj_coef."


def test_hints_of_a_language_model_are_read_too() -> None:
    hints = read_hints(["Reward slack and use pseudocost_product without obj_coef; n_rows is fine."])
    assert hints == Hints(favoured=(SLACK, PRODUCT, 3), avoided=(0,))


def test_a_crossover_takes_what_the_hint_speaks_for_and_not_what_it_speaks_against() -> None:
    worse, better = (
        product((Leaf(0), 1.0), (Leaf(COUNT), 1.0)),
        product((Leaf(SLACK), 1.0), (Leaf(PRODUCT), 1.0)),
    )
    for seed in range(40):
        child = cross(np.random.default_rng(seed), worse, better, Hints((SLACK, COUNT), (0,))).root
        assert {SLACK, COUNT} <= set(leaves(child))
        assert 0 not in leaves(child)


def test_a_mutation_adds_what_the_lesson_speaks_for_more_often_than_not_at_all() -> None:
    elite = product((Leaf(SLACK), 1.0), (Leaf(PRODUCT), 1.0))
    children = [mutate(np.random.default_rng(seed), elite, Hints((COUNT,), ())).root for seed in range(60)]
    assert all(child != elite for child in children)
    assert 15 <= sum(COUNT in leaves(child) for child in children) <= 45


@pytest.mark.parametrize("operator", ["improve_seed", "reflective_crossover", "elitist_mutation", "skeleton"])
def test_every_operator_gives_a_rule_the_same_for_the_same_seed(operator: str) -> None:
    sources = (WORSE, BETTER) if operator == "reflective_crossover" else (BETTER,)
    for seed in range(10):
        one, other = (generate(operator, *sources, seed=seed, hints=("Favour n_rows.",)) for _ in range(2))
        assert one == other
        assert not isinstance(check_source(one.source), Rejection)


def test_a_skeleton_at_its_own_values_is_the_rule_it_was_made_of() -> None:
    for seed in range(60):
        rule = sample_rule(np.random.default_rng(seed))
        skeleton = parse_skeleton(write_skeleton(rule))
        assert read(skeleton.bound()) == rule
        for parameter in skeleton.parameters:
            assert parameter.low < parameter.value < parameter.high


def test_a_skeleton_can_be_a_parent() -> None:
    first = generate("skeleton", seed=3)
    assert parse_skeleton(first.skeleton).parameters
    child = generate("skeleton", first.skeleton, first.skeleton, seed=4)
    assert not isinstance(check_source(child.source), Rejection)
    shared = set(leaves(read(first.source))) & set(leaves(read(child.source)))
    assert shared


def test_a_reflection_of_a_model_is_one_short_text_without_reasoning_and_code() -> None:
    assert parse_reflection("<think>hm</think>Use\n slack.\n```python\nx\n```") == "Use slack."
    assert parse_reflection(" ") is None
    assert len((parse_reflection("word " * 500) or "").split()) == 120


def test_a_skeleton_of_a_model_becomes_a_rule_or_a_reason() -> None:
    source, skeleton, failure = read_skeleton(
        write_skeleton(product((Leaf(SLACK), 1.0), (Leaf(PRODUCT), 2.0)))
    )
    assert source is not None
    assert "BOUNDS" not in source
    assert "BOUNDS" in (skeleton or "")
    assert failure is None
    assert read_skeleton("def candidate_variable_score(f, a=1.0):\n    return a\n")[2] is not None
