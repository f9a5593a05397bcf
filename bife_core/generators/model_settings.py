"""Where the model API is and what a call may cost, read from the environment."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import httpx
from openai import AsyncOpenAI
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bife_core.errors import GeneratorError
from bife_core.generators.held_key import KEY_VARIABLE, held_key
from bife_core.generators.wire import BoundedClient, Received

_EXAMPLE: Final = "for instance BIFE_LLM_BASE_URL=https://api.deepseek.com BIFE_LLM_MODEL=deepseek-flash"
_NO_KEY: Final = "not-needed"
_SHORTEST_SECRET: Final = 12
"""Characters of a secret; a shorter key is a placeholder, such as `local`, whose letters stand in good answers too."""
_HIDDEN: Final = re.compile(r".*@|\?.*", re.DOTALL)
_DEEPEST: Final = 100
_SECRET: Final = (KEY_VARIABLE, "OPENAI_API_KEY")
_MILLION: Final = Decimal(1_000_000)


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
    tries : int
        ``BIFE_LLM_TRIES``: calls made for one rule at most, those that met a rate limit not counted.
    max_wait_s : float
        ``BIFE_LLM_MAX_WAIT_S``: longest wait between two tries in seconds, whatever the server asks for.
    price_in, price_out : Decimal or None
        ``BIFE_LLM_PRICE_IN`` and ``BIFE_LLM_PRICE_OUT``: USD per million tokens of prompt and of answer.
    """

    model_config = SettingsConfigDict(
        frozen=True, extra="ignore", env_ignore_empty=True, populate_by_name=True, hide_input_in_errors=True
    )

    base_url: str | None = Field(
        default=None, validation_alias=AliasChoices("BIFE_LLM_BASE_URL", "OPENAI_BASE_URL")
    )
    model: str | None = Field(default=None, validation_alias="BIFE_LLM_MODEL")
    api_key: SecretStr | None = Field(default=None, validation_alias=AliasChoices(*_SECRET))
    temperature: float | None = Field(default=None, ge=0, le=2, validation_alias="BIFE_LLM_TEMPERATURE")
    timeout_s: float = Field(default=60.0, gt=0, allow_inf_nan=False, validation_alias="BIFE_LLM_TIMEOUT_S")
    tries: int = Field(default=6, ge=1, le=100, validation_alias="BIFE_LLM_TRIES")
    max_wait_s: float = Field(default=60.0, ge=0, allow_inf_nan=False, validation_alias="BIFE_LLM_MAX_WAIT_S")
    price_in: Decimal | None = Field(default=None, ge=0, validation_alias="BIFE_LLM_PRICE_IN")
    price_out: Decimal | None = Field(default=None, ge=0, validation_alias="BIFE_LLM_PRICE_OUT")

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        value = value.strip() if value is not None else None
        if value is None:
            return None
        parts = urlsplit(value)
        # Reading the port makes sure it is a number.
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError("an address that starts with http:// or https:// was expected")
        try:
            httpx.URL(value)
        except httpx.InvalidURL as error:
            raise ValueError(f"an address was expected ({error})") from error
        if any(character.isspace() for character in value):
            raise ValueError("an address without spaces was expected")
        return value

    @field_validator("api_key")
    @classmethod
    def _fits_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        # A key that was read from a file often ends in a line break.
        text = value.get_secret_value().strip() if value is not None else ""
        if not (text.isascii() and text.isprintable()):
            raise ValueError("a key of printable ASCII characters was expected")
        return SecretStr(text) if text else None

    @classmethod
    def from_environment(cls) -> ModelApiSettings:
        """Read the settings from the environment, and a key that is kept elsewhere from `holding_key`.

        Raises
        ------
        GeneratorError
            If a variable, or that key, has a value that cannot be used.
        """
        held = held_key()
        # By the name of the variable: the value of another variable would go before the field's own name.
        given: dict[str, Any] = {} if held is None else {KEY_VARIABLE: held}
        try:
            return cls(**given)
        except ValidationError as error:
            raise GeneratorError(
                f"The environment's model API settings cannot be used: {_described(error)}."
            ) from None

    @property
    def address(self) -> str:
        """The base URL without user name, password and query, fit for messages and files."""
        parts = urlsplit(self.base_url or "")
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))

    def require_complete(self) -> tuple[str, str]:
        """Return base URL and model.

        Raises
        ------
        GeneratorError
            If one of them is missing, or if both a key and a user are named, of which a request can carry one.
        """
        if self.base_url is None or self.model is None:
            missing = [
                name
                for name, value in (("BIFE_LLM_BASE_URL", self.base_url), ("BIFE_LLM_MODEL", self.model))
                if value is None
            ]
            raise GeneratorError(f"The model API is not configured: set {' and '.join(missing)}, {_EXAMPLE}.")
        if self.api_key is not None and "@" in urlsplit(self.base_url).netloc:
            raise GeneratorError(
                "BIFE_LLM_BASE_URL names a user, and there is a key too, while a request can carry only one of them: "
                "take the user out of the address, or unset BIFE_LLM_API_KEY and OPENAI_API_KEY."
            )
        return self.base_url, self.model

    def cost_usd(self, prompt_tokens: int, completion_tokens: int) -> Decimal | None:
        """Return what so many tokens cost in USD, exactly, or None when no price is set."""
        if self.price_in is None and self.price_out is None:
            return None
        price_in, price_out = self.price_in or Decimal(0), self.price_out or Decimal(0)
        return (prompt_tokens * price_in + completion_tokens * price_out) / _MILLION

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: the key, and password and values of the address's query; longest first."""
        parts = urlsplit(self.base_url or "")
        found = [self.api_key.get_secret_value()] if self.api_key is not None else []
        found += [parts.password or "", unquote(parts.password or "")]
        found += [value for _, value in parse_qsl(parts.query)]
        return tuple(sorted({text for text in found if len(text) >= _SHORTEST_SECRET}, key=len, reverse=True))

    def redact(self, text: str) -> str:
        """Return `text` with the key blotted out, should a server have echoed it."""
        for secret in self.secrets:
            text = text.replace(secret, "[key]")
        return text

    def cleaned(self, value: Any, depth: int = 0) -> Any:
        """Return a JSON value without secrets and halves of surrogate pairs, which no file can hold.

        Raises
        ------
        RecursionError
            If lists and objects are nested deeper than readers of JSON allow.
        """
        if depth > _DEEPEST:
            raise RecursionError
        if isinstance(value, str):
            return self.redact(_writable(value))
        if isinstance(value, list):
            return [self.cleaned(item, depth + 1) for item in value]
        if isinstance(value, dict):
            # Names are not secrets, and without theirs an answer or its tokens would not be found.
            return {_writable(name): self.cleaned(item, depth + 1) for name, item in value.items()}
        return value

    def client(self, received: Received | None = None) -> AsyncOpenAI:
        """Return a client that makes every call once: the generator retries, with a record of every try."""
        base_url, _ = self.require_complete()
        parts = urlsplit(base_url)
        key = self.api_key.get_secret_value() if self.api_key is not None else _NO_KEY
        return AsyncOpenAI(
            # The client appends its paths to the address, so a query has to be apart from it.
            base_url=urlunsplit(parts._replace(query="", fragment="")),
            default_query=dict(parse_qsl(parts.query, keep_blank_values=True)),
            api_key=key,
            max_retries=0,
            timeout=self.timeout_s,
            http_client=BoundedClient(received if received is not None else Received()),
        )


def _writable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _described(error: ValidationError) -> str:
    """Say what is wrong; of what may hold a secret the value is not told."""
    lines = []
    for item in error.errors():
        name = str(item["loc"][0]) if item["loc"] else "settings"
        found = "" if name in _SECRET else f" (found {_HIDDEN.sub('', str(item.get('input')))!r})"
        lines.append(f"{name}: {item['msg']}{found}")
    return "; ".join(lines)
