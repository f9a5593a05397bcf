"""Where the model API is and what a call may cost, read from the environment."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl

import httpx2
from pydantic import AliasChoices, BeforeValidator, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bife_core.base.errors import GeneratorError
from bife_core.base.wording import storable
from bife_core.search.generators.account import Call

KEY_VARIABLE: Final = "BIFE_LLM_API_KEY"

_held: ContextVar[SecretStr | None] = ContextVar("bife_model_api_key", default=None)

_EXAMPLE: Final = "for instance BIFE_LLM_BASE_URL=https://api.deepseek.com BIFE_LLM_MODEL=deepseek-flash"
_Prices = Annotated[
    tuple[Annotated[Decimal, Field(ge=0)], ...],
    NoDecode,
    BeforeValidator(lambda value: value.split(",") if isinstance(value, str) else value),
]
_HEADER: Final = re.compile(r"\s*([\w!#$%&'*+.^`|~-]+)\s*:\s*([\x20-\x7e]*?)\s*", re.ASCII)
_SHORTEST_SECRET: Final = 12
"""Characters of a secret; a shorter key is a placeholder, such as `local`, whose letters stand in good answers too."""


@contextmanager
def holding_key(key: SecretStr) -> Iterator[None]:
    """Have a key from elsewhere, such as a secret store, used inside; a key for BiFE in the environment comes first."""
    token = _held.set(key)
    try:
        yield
    finally:
        _held.reset(token)


class ModelApiSettings(BaseSettings):
    """Address, model and key of a chat API, read from the environment; an empty variable counts as unset.

    A request waits `timeout_s` for its answer, is sent `tries` times at most, `concurrency` at once at most. Prices are
    in USD per million tokens: of prompts, of their cached part, and of answers, one for all or one for each of the
    models that `model` names with commas between. `query` (``name=value&...``) is added to the address of each request,
    and `headers`, lines ``Name: value``, to the request. Local servers need no key.
    """

    model_config = SettingsConfigDict(
        frozen=True, extra="ignore", env_ignore_empty=True, populate_by_name=True, hide_input_in_errors=True
    )

    base_url: str | None = Field(None, validation_alias=AliasChoices("BIFE_LLM_BASE_URL", "OPENAI_BASE_URL"))
    model: str | None = Field(None, validation_alias="BIFE_LLM_MODEL")
    api_key: SecretStr | None = Field(None, validation_alias=AliasChoices(KEY_VARIABLE, "OPENAI_API_KEY"))
    query: Annotated[dict[str, str], NoDecode] = Field({}, validation_alias="BIFE_LLM_QUERY")
    headers: Annotated[dict[str, SecretStr], NoDecode] = Field(
        {}, validation_alias=AliasChoices("BIFE_LLM_HEADERS", "OPENAI_CUSTOM_HEADERS")
    )
    timeout_s: float = Field(300.0, gt=0, allow_inf_nan=False, validation_alias="BIFE_LLM_TIMEOUT_S")
    tries: int = Field(6, ge=1, le=100, validation_alias="BIFE_LLM_TRIES")
    concurrency: int = Field(16, ge=1, le=256, validation_alias="BIFE_LLM_CONCURRENCY")
    price_in: _Prices = Field((), validation_alias="BIFE_LLM_PRICE_IN")
    price_cached: _Prices = Field((), validation_alias="BIFE_LLM_PRICE_CACHED")
    price_out: _Prices = Field((), validation_alias="BIFE_LLM_PRICE_OUT")

    @field_validator("query", mode="before")
    @classmethod
    def _by_ampersands(cls, value: object) -> object:
        return (
            dict(parse_qsl(value.strip(" \n?"), keep_blank_values=True)) if isinstance(value, str) else value
        )

    @field_validator("headers", mode="before")
    @classmethod
    def _by_lines(cls, value: object) -> object:
        headers = list(map(_HEADER.fullmatch, filter(str.strip, str(value or "").splitlines())))
        if None in headers:
            raise ValueError("lines of printable ASCII characters such as 'api-key: 0123abcd' were expected")
        return {header[1]: header[2] for header in headers if header is not None}

    @field_validator("base_url")
    @classmethod
    def _can_be_asked(cls, value: str | None) -> str | None:
        value = (value or "").strip()
        try:
            url = httpx2.URL(value)
            # As it is encoded to be looked up, which takes labels of 1 to 63 characters.
            valid = url.raw_host.decode().encode("idna") and url.scheme in ("http", "https")
        except (httpx2.InvalidURL, ValueError):
            valid = False
        wrong = not valid or not 0 < (url.port or 1) < 2**16 or url.userinfo or set("?# ") & set(value)
        if value and (wrong or url.path.rstrip("/").endswith("/chat/completions")):
            raise ValueError(
                "an address such as https://api.deepseek.com or http://localhost:8000/v1 was expected, without "
                "user, password and /chat/completions; BIFE_LLM_QUERY takes a query"
            )
        return value or None

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
        """Read the settings, and the key of `holding_key`; a GeneratorError names a value that cannot be used."""
        held = None if os.environ.get(KEY_VARIABLE) else _held.get()
        held_key: dict[str, Any] = {} if held is None else {KEY_VARIABLE: held}
        try:
            return cls(**held_key)
        except ValidationError as error:
            # Values are not shown, for they may hold secrets.
            wrong = "; ".join(
                f"{item['loc'][0]}: {item['msg'].removeprefix('Value error, ')}" for item in error.errors()
            )
            raise GeneratorError(f"The environment's model API settings cannot be used: {wrong}.") from None

    @property
    def models(self) -> tuple[str, ...]:
        """The names in `model`."""
        return tuple(filter(None, map(str.strip, (self.model or "").split(","))))

    def require_complete(self) -> tuple[str, tuple[str, ...]]:
        """Return base URL and models; a GeneratorError says which of them, or which price, is missing."""
        if self.base_url is None or self.model is None:
            settings = {"BIFE_LLM_BASE_URL": self.base_url, "BIFE_LLM_MODEL": self.model}
            missing = " and ".join(name for name, value in settings.items() if value is None)
            raise GeneratorError(f"The model API is not configured: set {missing}, {_EXAMPLE}.")
        for name in ("price_in", "price_cached", "price_out"):
            if (count := len(getattr(self, name))) not in (0, 1, len(self.models)):
                raise GeneratorError(
                    f"BIFE_LLM_{name.upper()} has {count} prices for {len(self.models)} models."
                )
        return self.base_url, self.models

    def cost_usd(self, call: Call) -> Decimal | None:
        """Return what the tokens of a call cost in USD, exactly, or None when no price is set."""

        def price(prices: tuple[Decimal, ...], default: Decimal) -> Decimal:
            by_model = dict(zip(self.models, prices, strict=False))
            return prices[0] if len(prices) == 1 else by_model.get(call.model, default)

        if not self.price_in and not self.price_out:
            return None
        price_in, price_out = price(self.price_in, Decimal(0)), price(self.price_out, Decimal(0))
        saved = call.cached_tokens * (price_in - price(self.price_cached, price_in))
        return (call.prompt_tokens * price_in - saved + call.completion_tokens * price_out) / 1_000_000

    def redact(self, text: str) -> str:
        """Return `text` with the key and the values of headers blotted out, should a server have echoed them."""
        for held in (self.api_key, *self.headers.values()):
            for secret in held.get_secret_value().split() if held is not None else ():
                text = text.replace(secret, "[key]") if len(secret) >= _SHORTEST_SECRET else text
        return text

    def cleaned(self, text: str) -> Any:
        """Return the JSON value of a reply, or its text, without the key and halves of surrogate pairs."""
        try:
            # Written anew before it is cleaned: a key may be spelled with escapes.
            text = json.dumps(json.loads(text.lstrip("\ufeff")), ensure_ascii=False)
            # No database reads the constants, into which numbers such as 1e999 were made too.
            return json.loads(self.redact(storable(text)), parse_constant=str)
        except (ValueError, RecursionError):
            return self.redact(storable(text))
