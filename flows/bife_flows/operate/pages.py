"""Prefect's server for one run, and as `bife up` starts it: its pages reach no other machine, whatever they ask."""

from __future__ import annotations

from typing import Any, Final

from fastapi import Request, Response
from prefect.server.api.server import create_app
from prefect.settings import get_current_settings
from sqlalchemy import Engine, event
from starlette.middleware.base import RequestResponseEndpoint
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_REMEDY: Final = """If a newer Prefect wrote its database, install that version; if it is damaged, restore a backup or \
delete prefect/ of the home while nothing runs, by which only Prefect's history is lost."""

# Of Prefect's documented API (docs.prefect.io/v3/api-ref/python/prefect-server-api-server); no setting adds a header.


@event.listens_for(Engine, "before_cursor_execute", retval=True)
def take_turns(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> tuple[str, Any]:
    """Have Prefect's transactions on SQLite wait until they may write: begun to read, they may be refused (503)."""
    return statement.replace("BEGIN DEFERRED", "BEGIN IMMEDIATE"), values


def api() -> ASGIApp:
    """Return the server without pages, for uvicorn, as Prefect starts it for one program."""
    return _telling(create_app(ephemeral=True, final=True))


def app() -> ASGIApp:
    """Return the server, for uvicorn; browsers refuse its pages all connections but those to it, by its names."""
    server = create_app(final=True)
    origins = get_current_settings().server.api.cors_allowed_origins.split(",")
    allowed = [*origins, *(origin.replace("http", "ws", 1) for origin in origins)]

    @server.middleware("http")
    async def for_this_machine(request: Request, answer: RequestResponseEndpoint) -> Response:
        response = await answer(request)
        response.headers["Content-Security-Policy"] = f"connect-src 'self' {' '.join(allowed)}"
        return response

    return _telling(server)


def _telling(server: ASGIApp) -> ASGIApp:
    """Have a server that cannot start print why, since Prefect silences the log of uvicorn."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def noted(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "lifespan.startup.complete"
            await send(message)

        try:
            await server(scope, receive, noted)
        except Exception as error:
            if scope["type"] == "lifespan" and not started:
                why = str(error).partition("\n")[0].rstrip(".")
                print(f"Prefect cannot start: {why}. {_REMEDY}", flush=True)
            raise

    return answer
