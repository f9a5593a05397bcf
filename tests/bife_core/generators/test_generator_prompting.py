from __future__ import annotations

from importlib import resources
from string import Template

import pytest
from pydantic import TypeAdapter

from bife_core.features import FEATURES
from bife_core.generators.base import Message
from bife_core.generators.parsing import parse_answer
from bife_core.generators.prompting import (
    OPERATORS,
    REFLECTIONS,
    assemble,
    feature_description,
    prompt_digest,
    prompt_version,
)
from bife_core.rules.language import FUNCTION_NAME
from bife_core.search import Sample, WrittenRequest

PARENTS = (
    Sample(
        id="g00-c01",
        generation=0,
        operator="i1",
        source="def one(): return '$notaplaceholder {x}'",
        thought="first thought",
        f_lf=0.25,
    ),
    Sample(id="g00-c02", generation=0, operator="i1", source="def two(): return 2"),
)


def request(operator: str, parents: tuple[Sample, ...] = PARENTS) -> WrittenRequest:
    kind = "reflection" if operator in REFLECTIONS else "sample"
    told = {"kind": kind, "id": "k", "generation": 1, "operator": operator, "parents": parents, "seed": 1}
    return TypeAdapter(WrittenRequest).validate_python(told)


def text(operator: str) -> str:
    (message,) = assemble(request(operator), "set_covering")
    return message.content


def test_every_feature_is_explained_once_with_its_index_and_meaning() -> None:
    described = feature_description()
    for feature in FEATURES:
        line = f"- variable_features[{feature.index}] {feature.name}: {feature.meaning}"
        assert described.split("\n").count(line) == 1


@pytest.mark.parametrize("operator", [*OPERATORS, *REFLECTIONS])
def test_no_placeholder_is_left_open(operator: str) -> None:
    filled = text(operator).replace("$notaplaceholder", "")
    assert "$" not in filled


@pytest.mark.parametrize("operator", ["e1", "e2", "m1", "m2"])
def test_the_order_is_problem_operator_parents_template(operator: str) -> None:
    content = text(operator)
    marks = [
        "variable_features[71]",
        "# Your task",
        PARENTS[0].source,
        PARENTS[1].source,
        f"def {FUNCTION_NAME}(",
    ]
    places = [content.index(mark) for mark in marks]
    assert places == sorted(places)


def test_parents_are_numbered_and_shown_unchanged_with_their_thoughts() -> None:
    content = text("e2")
    assert "Rule 1. first thought" in content
    assert "Rule 2. " in content
    assert "Below are 2 rules" in content
    assert PARENTS[0].source in content


def test_the_initial_prompt_shows_no_parents() -> None:
    (message,) = assemble(request("i1", ()), "set_covering")
    assert "Rule 1" not in message.content
    assert "set covering" in message.content


def test_operators_ask_for_different_things() -> None:
    assert len({text(operator) for operator in OPERATORS}) == len(OPERATORS)


def test_the_template_is_itself_a_complete_answer() -> None:
    (message,) = assemble(request("i1", ()), "set_covering")
    answer = message.content[message.content.index("# How to answer") :]
    assert parse_answer(answer).source is not None


def test_the_digest_depends_on_the_content() -> None:
    one, other = assemble(request("m1"), "set_covering"), assemble(request("m2"), "set_covering")
    assert prompt_digest(one) == prompt_digest(assemble(request("m1"), "set_covering"))
    assert prompt_digest(one) != prompt_digest(other)
    assert prompt_digest(one) != prompt_digest((Message(role="system", content=one[0].content),))


def test_the_version_is_a_stable_short_hash() -> None:
    assert len(prompt_version()) == 16
    assert prompt_version() == prompt_version()


def test_every_prompt_file_is_a_valid_template_and_is_shipped() -> None:
    folder = resources.files("bife_core.generators") / "prompts"
    names = {path.name for path in folder.iterdir() if path.name.endswith(".md")}
    others = ("problem", "parent", "template", "skeleton_template")
    assert names == {f"{name}.md" for name in (*OPERATORS, *REFLECTIONS, *others)}
    for name in names:
        assert Template((folder / name).read_text(encoding="utf-8")).is_valid()
