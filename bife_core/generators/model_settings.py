"""Where the model API is and what a call may cost, read from the environment."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit, urlunsplit

from openai import AsyncOpenAI
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bife_core.config import describe
from bife_core.errors import GeneratorError

_EXAMPLE: Final = "for instance BIFE_LLM_BASE_URL=https://api.deepseek.com BIFE_LLM_MODEL=deepseek-flash"
_NO_KEY: Final = "not-needed"


class ModelApiSettings(BaseSettings):
    """Address, model and key of a chat API, read from the environment; an empty variable counts as unset.

    Attributes
    ----------
    base_url : str or None
        ``BIFE_LLM_BASE_URL``, else ``OPENAI_BASE_URL``; for most servers it ends in ``/v1``.
    model : str or None
        ``BIFE_LLM_MODEL``.
    api_key : SecretStr or None
        ``BIFE_LLM_API_KEY``, else ``OPENAI_API_KEY``; local servers need none. Never printed,
        logged or stored.
    temperature : float or None
        ``BIFE_LLM_TEMPERATURE``; None leaves it to the server.
    timeout_s : float
        ``BIFE_LLM_TIMEOUT_S``: wall seconds one call may take in all (the paper's 60 by default).
    price_in, price_out : float or None
        ``BIFE_LLM_PRICE_IN`` and ``BIFE_LLM_PRICE_OUT``: USD per million tokens of prompt and of answer.
    """

    model_config = SettingsConfigDict(
        frozen=True, extra="ignore", env_ignore_empty=True, populate_by_name=True, hide_input_in_errors=True
    )

    base_url: str | None = Field(
        default=None, validation_alias=AliasChoices("BIFE_LLM_BASE_URL", "OPENAI_BASE_URL")
    )
    model: str | None = Field(default=None, validation_alias="BIFE_LLM_MODEL")
    api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("BIFE_LLM_API_KEY", "OPENAI_API_KEY")
    )
    temperature: float | None = Field(default=None, ge=0, le=2, validation_alias="BIFE_LLM_TEMPERATURE")
    timeout_s: float = Field(default=60.0, gt=0, validation_alias="BIFE_LLM_TIMEOUT_S")
    price_in: float | None = Field(default=None, ge=0, validation_alias="BIFE_LLM_PRICE_IN")
    price_out: float | None = Field(default=None, ge=0, validation_alias="BIFE_LLM_PRICE_OUT")

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        if value is not None and (
            urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).netloc
        ):
            raise ValueError("an address that starts with http:// or https:// was expected")
        return value

    @classmethod
    def from_environment(cls) -> ModelApiSettings:
        """Read the settings from the environment.

        Raises
        ------
        GeneratorError
            If a variable has a value that cannot be used.
        """
        try:
            return cls()
        except ValidationError as error:
            raise GeneratorError(
                f"The environment's model API settings cannot be used: {describe(error)}"
            ) from error

    @property
    def address(self) -> str:
        """The base URL without user name and password, fit for messages and files."""
        parts = urlsplit(self.base_url or "")
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    def require_complete(self) -> tuple[str, str]:
        """Return base URL and model.

        Raises
        ------
        GeneratorError
            If one of them is missing.
        """
        if self.base_url is None or self.model is None:
            missing = [
                name
                for name, value in (("BIFE_LLM_BASE_URL", self.base_url), ("BIFE_LLM_MODEL", self.model))
                if value is None
            ]
            raise GeneratorError(f"The model API is not configured: set {' and '.join(missing)}, {_EXAMPLE}.")
        return self.base_url, self.model

    def cost_usd(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Return what so many tokens cost in USD, or None when no price is set."""
        if self.price_in is None and self.price_out is None:
            return None
        return (prompt_tokens * (self.price_in or 0.0) + completion_tokens * (self.price_out or 0.0)) / 1e6

    def redact(self, text: str) -> str:
        """Return `text` with the key blotted out, should a server have echoed it."""
        key = self.api_key.get_secret_value() if self.api_key is not None else ""
        return text.replace(key, "[key]") if len(key) >= 4 else text

    def client(self) -> AsyncOpenAI:
        """Return a client that makes every call once: the generator retries, with a record of every try."""
        base_url, _ = self.require_complete()
        key = self.api_key.get_secret_value() if self.api_key is not None else _NO_KEY
        return AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=self.timeout_s)
