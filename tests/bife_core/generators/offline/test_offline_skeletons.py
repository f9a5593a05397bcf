"""Skeletons and reflections by the offline generator, and those of a model as they are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bife_core.generators.offline import OfflineGenerator
from bife_core.generators.offline.expression import Leaf, leaves, product
from bife_core.generators.offline.priors import sample_rule
from bife_core.generators.offline.reader import read
from bife_core.generators.offline.writer import write, write_skeleton
from bife_core.generators.parsing import parse_reflection, read_skeleton
from bife_core.generators.prompt_context import PromptContext
from bife_core.rules.checked import check_source
from bife_core.rules.skeletons import parse_skeleton
from bife_core.rules.types import Rejection
from bife_core.search import ReflectionRequest, Sample, SampleRequest

SLACK, PRODUCT = 18, 24
WORSE = write(product((Leaf(0), 1.0), (Leaf(PRODUCT), 1.0)))
BETTER = write(product((Leaf(SLACK), 1.0), (Leaf(PRODUCT), 0.5)))


def generate(
    operator: str, *sources: str, reflect: bool = False, hints: tuple[str, ...] = (), **more: Any
) -> Any:
    parents = tuple(
        Sample(id=f"p{k}", generation=0, operator="i1", source=source) for k, source in enumerate(sources)
    )
    known = {"id": "k", "generation": 1, "operator": operator, "parents": parents, "hints": hints, "seed": 0}
    kind = ReflectionRequest if reflect else SampleRequest
    return OfflineGenerator().generate(kind.model_validate(known | more), PromptContext(benchmark="toys"))


def test_a_reflection_names_what_the_better_rule_reads_and_the_worse_does_not() -> None:
    written = generate("compare", WORSE, BETTER, reflect=True)
    assert (written.text, written.source, written.failure) == ("Favour slack.", None, None)
    assert "Both read the same" in generate("compare", BETTER, BETTER, reflect=True).text
    assert generate("learn", reflect=True, hints=("Use a.", "Use b.", "Use a.")).text == "Use a. Use b."


@pytest.mark.parametrize("sources", [(), (BETTER,), (WORSE, BETTER)])
def test_an_operator_of_another_package_gives_a_rule_the_same_for_the_same_seed(
    sources: tuple[str, ...],
) -> None:
    for seed in range(10):
        one, other = (generate("anything", *sources, seed=seed) for _ in range(2))
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
    first = generate("skeleton", skeleton=True, seed=3)
    assert parse_skeleton(first.skeleton).parameters
    child = generate("skeleton", first.skeleton, first.skeleton, skeleton=True, seed=4)
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
