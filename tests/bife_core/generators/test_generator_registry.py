from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from bife_core.config import GeneratorConfig
from bife_core.generators import (
    Draft,
    Generator,
    PromptContext,
    open_generator,
)
from bife_core.generators.config import GENERATORS
from bife_core.generators.prompting import OPERATORS
from bife_core.search import Sample, SampleRequest
from tests.support.model_answers import MODEL, rule_source
from tests.support.model_api import ModelApi
from tests.support.stored import account_at

ABOUT = PromptContext(benchmark="set_covering")

KINDS = tuple(GENERATORS)
Open = Callable[[str], Generator]


@pytest.fixture
def open_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    with ModelApi() as api:
        monkeypatch.setenv("BIFE_LLM_BASE_URL", api.base_url)
        monkeypatch.setenv("BIFE_LLM_MODEL", MODEL)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        for name in ("BIFE_LLM_API_KEY", "OPENAI_API_KEY", "BIFE_LLM_TIMEOUT_S"):
            monkeypatch.delenv(name, raising=False)

        def build(kind: str) -> Generator:
            recorded = tmp_path / "recorded"
            if kind == "replay":
                source = open_generator(GeneratorConfig(kind="openai"), account_at(recorded))
                for operator in OPERATORS:
                    source.generate(request(operator), ABOUT)
            data = {"kind": kind, "replay_from": recorded if kind == "replay" else None}
            return open_generator(GeneratorConfig.model_validate(data), account_at(tmp_path / "calls"))

        yield build


def request(operator: str) -> SampleRequest:
    shown = [{"id": str(i), "generation": 0, "operator": "i1", "source": rule_source(i)} for i in range(2)]
    parents = () if operator == "i1" else tuple(Sample.model_validate(parent) for parent in shown)
    return SampleRequest.model_validate(
        {
            "id": f"g01-{operator}",
            "generation": 1,
            "operator": operator,
            "parents": parents,
            "seed": 3,
        }
    )


def test_the_form_lists_every_generator_and_no_other_is_taken() -> None:
    form = GeneratorConfig.model_json_schema()["properties"]["kind"]
    assert form["enum"] == list(GENERATORS)
    with pytest.raises(
        ValidationError, match=r"no generator 'nobody'; choose one of offline, openai, replay"
    ):
        GeneratorConfig(kind="nobody")


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_generator_writes_a_rule_for_every_operator(open_kind: Open, kind: str, operator: str) -> None:
    generator = open_kind(kind)
    asked = request(operator)
    before = asked.model_dump()
    generation = generator.generate(asked, ABOUT)
    assert generation.failure is None
    assert generation.source is not None
    assert "def candidate_variable_score(" in generation.source
    assert generation.thought
    assert generation.key == asked.id
    assert generation.generator == generator.name == kind
    assert generation.model
    assert asked.model_dump() == before
    assert Draft.model_validate_json(generation.model_dump_json()) == generation


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_request_gives_the_same_rule_again(open_kind: Open, kind: str) -> None:
    generator = open_kind(kind)
    assert generator.generate(request("e2"), ABOUT).source == generator.generate(request("e2"), ABOUT).source


def test_model_and_temperature_of_the_configuration_are_used(open_kind: Open, tmp_path: Path) -> None:
    config = GeneratorConfig(kind="openai", model="bigger", temperature=0.9)
    with ModelApi() as api, pytest.MonkeyPatch.context() as patched:
        patched.setenv("BIFE_LLM_BASE_URL", api.base_url)
        assert open_generator(config, account_at(tmp_path)).generate(request("i1"), ABOUT).model == "bigger"
    (received,) = api.requests
    assert (received.body["model"], received.body["temperature"]) == ("bigger", 0.9)


def test_the_offline_generator_needs_no_http_client() -> None:
    program = (
        "import sys; from bife_core.config import GeneratorConfig\n"
        "from bife_core.generators import open_generator\n"
        "open_generator(GeneratorConfig(), None)\n"
        "assert 'openai' not in sys.modules, 'the openai package was imported'\n"
    )
    subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, check=True)
