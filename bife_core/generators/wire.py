"""One call over the network: a hard limit on its time, a reply of bounded size kept as far as it came, no redirect."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, TypeVar

import httpx
import openai

T = TypeVar("T")

_GRACE_S: Final = 1.0

LONGEST_REPLY: Final = 8 * 2**20
"""Bytes read of a reply at most; a rule with all its prose is a few thousand."""

_DECODED: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class ReplyTooLongError(Exception):
    """A reply has more than `LONGEST_REPLY` bytes."""


@dataclass
class Received:
    """What has arrived of a reply so far; it stays when the rest never does.

    Attributes
    ----------
    status : int or None
        HTTP status; None while no reply has begun.
    sent : bool
        Whether the request's headers have gone out, over a connection that stands.
    """

    status: int | None = None
    sent: bool = False
    body: bytearray = field(default_factory=bytearray)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")


@cache
def trusted() -> ssl.SSLContext:
    """Return whom clients trust, read once: reading the certificates takes longer than a call to a server nearby."""
    return httpx.create_ssl_context()


class BoundedClient(openai.DefaultAsyncHttpxClient):
    """Reads replies into a `Received`, up to a size.

    Redirects are not followed: a POST that is followed becomes a GET or takes the prompt to a host that nobody
    named.

    Parameters
    ----------
    received : Received
        Filled as bytes arrive.
    """

    def __init__(self, received: Received) -> None:
        super().__init__(follow_redirects=False, verify=trusted())
        self._received = received

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request and read its reply.

        Raises
        ------
        ReplyTooLongError
            If the reply has more bytes than are read.
        """
        received = self._received

        async def watch(event: str, info: dict[str, Any]) -> None:
            # A proxy is first sent a CONNECT, which is no request yet.
            if event.endswith("send_request_body.started") and info["request"].method != b"CONNECT":
                received.sent = True

        request.extensions["trace"] = watch
        response = await super().send(request, **(options | {"stream": True, "follow_redirects": False}))
        received.status = response.status_code
        try:
            async for chunk in response.aiter_bytes():
                received.body += chunk
                if len(received.body) > LONGEST_REPLY:
                    raise ReplyTooLongError(f"more than {LONGEST_REPLY:,} bytes")
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.items() if name.lower() not in _DECODED]
        return type(response)(
            response.status_code, headers=headers, content=bytes(received.body), request=request
        )


def call_within(limit_s: float, make: Callable[[], Awaitable[T]]) -> T:
    """Run the coroutine that `make` returns and wait for it for `limit_s` seconds at most.

    Timeouts of an HTTP client restart with every byte; this one does not. The coroutine runs in an event loop
    of its own on a thread of its own, so callers may be inside an event loop themselves. It is cancelled at
    the limit, and a thread that is stuck in something that cannot be cancelled (such as a name server that
    does not answer) is left behind one second later.

    Parameters
    ----------
    limit_s : float
        Seconds of wall time.
    make : callable
        Called once on the new thread.

    Raises
    ------
    TimeoutError
        If the limit was reached. Whatever the coroutine raises is raised here too.
    """
    outcome: Future[T] = Future()

    async def limited() -> T:
        async with asyncio.timeout(limit_s):
            return await make()

    def run() -> None:
        try:
            result = asyncio.run(limited())
        except BaseException as error:  # noqa: BLE001 - handed to the caller, who raises it
            outcome.set_exception(error)
        else:
            outcome.set_result(result)

    threading.Thread(target=run, name="bife-model-call", daemon=True).start()
    return outcome.result(timeout=limit_s + _GRACE_S)
