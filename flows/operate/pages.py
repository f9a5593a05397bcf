"""Prefect's server for one run, and as `bife up` starts it: its pages reach no other machine, whatever they ask."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response
from prefect.server.api.server import create_app
from prefect.settings import get_current_settings
from sqlalchemy import Engine, event
from starlette.middleware.base import RequestResponseEndpoint

# Of Prefect's documented API (docs.prefect.io/v3/api-ref/python/prefect-server-api-server); no setting adds a header.


@event.listens_for(Engine, "before_cursor_execute", retval=True)
def take_turns(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> tuple[str, Any]:
    """Have Prefect's transactions on SQLite wait until they may write: begun to read, they may be refused (503)."""
    return statement.replace("BEGIN DEFERRED", "BEGIN IMMEDIATE"), values


def api() -> FastAPI:
    """Return the server without pages, for uvicorn, as Prefect starts it for one program."""
    return create_app(ephemeral=True, final=True)


def app() -> FastAPI:
    """Return the server, for uvicorn; browsers refuse its pages all connections but those to it, by its names."""
    made, origins = create_app(final=True), get_current_settings().server.api.cors_allowed_origins.split(",")
    own = [*origins, *(origin.replace("http", "ws", 1) for origin in origins)]

    @made.middleware("http")
    async def for_own_machine(request: Request, answer: RequestResponseEndpoint) -> Response:
        response = await answer(request)
        response.headers["Content-Security-Policy"] = f"connect-src 'self' {' '.join(own)}"
        return response

    return made
