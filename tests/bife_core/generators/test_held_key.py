"""A key that is kept elsewhere: which one goes first, and where it ends."""

from __future__ import annotations

from contextvars import copy_context

import pytest
from pydantic import SecretStr

from bife_core.errors import GeneratorError
from bife_core.generators.held_key import holding_key
from bife_core.generators.model_settings import ModelApiSettings


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("BIFE_LLM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def key():
    found = ModelApiSettings.from_environment().api_key
    return None if found is None else found.get_secret_value()


def test_it_is_used_inside_and_nowhere_else():
    with holding_key(SecretStr("held")):
        assert key() == "held"
        assert "held" not in repr(ModelApiSettings.from_environment())
        assert copy_context().run(key) == "held", "tasks run in copies of their flow's context"
        with holding_key(None):
            assert key() is None
    assert key() is None


def test_a_key_for_bife_goes_first_and_one_for_other_programs_last(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "for others")
    assert key() == "for others"
    with holding_key(SecretStr("held")):
        assert key() == "held"
        monkeypatch.setenv("BIFE_LLM_API_KEY", "for BiFE")
        assert key() == "for BiFE"
        monkeypatch.setenv("BIFE_LLM_API_KEY", "")
        assert key() == "held"


def test_it_is_checked_like_any_other_and_not_told():
    with holding_key(SecretStr("held\n")):
        assert key() == "held"
    with holding_key(SecretStr("schlüssel")), pytest.raises(GeneratorError) as caught:
        key()
    assert "schlüssel" not in str(caught.value)
