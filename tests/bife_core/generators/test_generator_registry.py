"""Every registered generator keeps to the contract, and the configuration names them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from bife_core.config import GeneratorConfig
from bife_core.generators import PromptContext, open_generator
from bife_core.generators.config import GENERATORS
from bife_core.search import SampleRequest
from bife_core.testing import check_generator
from tests.support.model_api import ModelApi
from tests.support.stored import account_at


def test_the_form_lists_every_generator_and_no_other_is_taken() -> None:
    form = GeneratorConfig.model_json_schema()["properties"]["kind"]
    assert form["enum"] == list(GENERATORS)
    with pytest.raises(
        ValidationError, match=r"no generator 'nobody'; choose one of offline, openai, replay"
    ):
        GeneratorConfig(kind="nobody")
    with pytest.raises(ValidationError, match="needs 'replay_from'"):
        GeneratorConfig(kind="replay")


def test_every_generator_keeps_to_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BIFE_LLM_API_KEY", "OPENAI_API_KEY", "BIFE_LLM_TIMEOUT_S"):
        monkeypatch.delenv(name, raising=False)
    with ModelApi(then="apt") as api:
        api.configure(monkeypatch)
        for config in (
            GeneratorConfig(),
            GeneratorConfig(kind="openai"),
            GeneratorConfig(kind="replay", replay_from=tmp_path),
        ):
            generator = open_generator(config, account_at(tmp_path))
            assert generator.name == config.kind
            check_generator(generator)
        assert len(api.requests) == 6, "each request was asked once, and replayed from then on"


def test_model_and_temperature_of_the_configuration_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = GeneratorConfig(kind="openai", model="bigger", temperature=0.9)
    request = SampleRequest(id="g00-c00", generation=0, operator="i1", seed=3)
    with ModelApi() as api:
        api.configure(monkeypatch)
        generator = open_generator(config, account_at(tmp_path))
        assert generator.generate(request, PromptContext(benchmark="toys")).model == "bigger"
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
