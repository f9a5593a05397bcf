"""Every registered generator keeps to the contract, and the configuration names them."""

import pytest
from pydantic import ValidationError

from bife_core.extend.testing import check_generator
from bife_core.run.config import GeneratorConfig
from bife_core.search.generators import open_generator
from bife_core.search.generators.config import GENERATORS
from tests.support.model_api import ModelApi
from tests.support.stored import account_at


def test_the_form_lists_every_generator_and_no_other_is_taken():
    form = GeneratorConfig.model_json_schema()["properties"]["kind"]
    assert form["enum"] == list(GENERATORS)
    sentence = "no generator 'nobody'; choose one of offline, openai, replay"
    with pytest.raises(ValidationError, match=sentence):
        GeneratorConfig(kind="nobody")
    with pytest.raises(ValidationError, match="needs 'replay_from'"):
        GeneratorConfig(kind="replay")


def test_every_generator_keeps_to_the_contract(tmp_path, monkeypatch):
    for name in ("BIFE_LLM_API_KEY", "OPENAI_API_KEY", "BIFE_LLM_TIMEOUT_S"):
        monkeypatch.delenv(name, raising=False)
    with ModelApi(then="apt") as api:
        api.configure(monkeypatch)
        replaying = GeneratorConfig(kind="replay", replay_from=tmp_path)
        for config in (GeneratorConfig(), GeneratorConfig(kind="openai"), replaying):
            generator = open_generator(config, account_at(tmp_path))
            assert generator.name == config.kind
            check_generator(generator)
        assert len(api.requests) == 6, "each request was asked once, and replayed from then on"
