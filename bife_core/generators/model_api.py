"""One call to an OpenAI-compatible chat API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, cast

import openai

from bife_core.generators.base import DraftingStoppedError, Message, NoDraftError
from bife_core.generators.judging import Reply, json_or_text, judge_error, read_completion, shortened
from bife_core.generators.model_settings import ModelApiSettings
from bife_core.generators.wire import Received, ReplyTooLongError, call_within

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

_NO_LIST: Final = (404, 405, 501)


def ask(settings: ModelApiSettings, messages: tuple[Message, ...], request_id: str | None = None) -> Reply:
    """Send `messages` once and wait `settings.timeout_s` at most.

    Parameters
    ----------
    request_id : str, optional
        Name of the call, sent along so that it can be found in the provider's records.

    Returns
    -------
    Reply
        Failures of the network, the server or the account are replies too; nothing of the kind is raised. What
        arrived of a reply that broke off is kept in it.
    """
    _, model = settings.require_complete()
    chat = [{"role": message.role, "content": message.content} for message in messages]

    def post(client: openai.AsyncOpenAI) -> Awaitable[object]:
        return client.chat.completions.with_raw_response.create(
            model=model,
            messages=cast("list[ChatCompletionMessageParam]", chat),
            temperature=openai.omit if settings.temperature is None else settings.temperature,
            extra_headers={"X-Client-Request-Id": request_id} if request_id else None,
        )

    received, failure = _request(settings, settings.timeout_s, post)
    return failure or read_completion(settings, received.status or 200, received.text)


def offered(settings: ModelApiSettings, *, limit_s: float = 10.0) -> list[str]:
    """Return the names of the models the API lists, or none where it lists none; asking costs nothing.

    Raises
    ------
    DraftingStoppedError
        If nothing answered, or not to this key: a person has to change something.
    NoDraftError
        If the API answered with an error that may pass.
    """
    received, failure = _request(settings, limit_s, lambda client: client.models.with_raw_response.list())
    if failure is not None:
        if failure.http_status in _NO_LIST:
            return []
        lasting = failure.outcome == "stop" or failure.http_status is None
        raise (DraftingStoppedError if lasting else NoDraftError)(str(failure.problem))
    body: Any = json_or_text(settings, received.text)
    listed = body.get("data") if isinstance(body, dict) else body
    models = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return [shortened(settings, item["id"]) for item in models if isinstance(item.get("id"), str)]


def _request(
    settings: ModelApiSettings, limit_s: float, send: Callable[[openai.AsyncOpenAI], Awaitable[object]]
) -> tuple[Received, Reply | None]:
    """Make one request; return what came, and what that means unless it is a whole reply of a good status."""
    received = Received()

    async def sent() -> None:
        async with settings.client(received) as client:
            await send(client)

    try:
        call_within(limit_s, sent)
    except ReplyTooLongError as error:
        problem = f"{settings.address} sent a reply of {error}; no rule needs them."
        return received, Reply("fail", problem, http_status=received.status, lost=True)
    except (TimeoutError, openai.APIError) as error:
        return received, judge_error(settings, error, limit_s, received)
    return received, None
