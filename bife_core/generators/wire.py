"""The HTTP client of the model API: answers of bounded size, kept as far as they came, and no redirects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import openai

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
    """

    status: int | None = None
    body: bytearray = field(default_factory=bytearray)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")


class BoundedClient(openai.DefaultAsyncHttpxClient):
    """Reads replies into a `Received`, up to a size.

    Redirects are not followed: a POST that is followed becomes a GET or takes the prompt to a host that nobody
    named.

    Parameters
    ----------
    received : Received
        Filled as bytes arrive.
    longest : int
        Bytes after which a reply is given up.
    """

    def __init__(self, received: Received, longest: int = LONGEST_REPLY) -> None:
        super().__init__(follow_redirects=False)
        self._received = received
        self._longest = longest

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request and read its reply.

        Raises
        ------
        ReplyTooLongError
            If the reply has more bytes than are read.
        """
        response = await super().send(request, **(options | {"stream": True, "follow_redirects": False}))
        received = self._received
        received.status = response.status_code
        try:
            async for chunk in response.aiter_bytes():
                received.body += chunk
                if len(received.body) > self._longest:
                    raise ReplyTooLongError(f"more than {self._longest:,} bytes")
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.items() if name.lower() not in _DECODED]
        return type(response)(
            response.status_code, headers=headers, content=bytes(received.body), request=request
        )
