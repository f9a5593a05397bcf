"""Prefect's server as `bife up` starts it: its pages reach no other machine, whatever they are made to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prefect.settings import get_current_settings
from starlette.datastructures import MutableHeaders

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class ForOwnMachine:
    """Have browsers refuse a page all connections but those to this server, by one of its names."""

    def __init__(self, app: ASGIApp, origins: list[str]) -> None:
        self._app = app
        own = [*origins, *(origin.replace("http", "ws", 1) for origin in origins)]
        self._policy = f"connect-src 'self' {' '.join(own)}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with the policy among the headers."""

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Content-Security-Policy"] = self._policy
            await send(message)

        await self._app(scope, receive, answer)


def app() -> FastAPI:
    """Return the server, for uvicorn."""
    from prefect.server.api.server import create_app

    made = create_app(final=True)
    made.add_middleware(ForOwnMachine, get_current_settings().server.api.cors_allowed_origins.split(","))
    return made
