"""Prefect's server as `bife up` starts it: its pages reach no other machine, whatever they are made to ask."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response
from prefect.settings import get_current_settings
from starlette.middleware.base import RequestResponseEndpoint


def app() -> FastAPI:
    """Return the server, for uvicorn; browsers refuse its pages all connections but those to it, by its names."""
    from prefect.server.api.server import create_app

    made, origins = create_app(final=True), get_current_settings().server.api.cors_allowed_origins.split(",")
    own = [*origins, *(origin.replace("http", "ws", 1) for origin in origins)]

    @made.middleware("http")
    async def for_own_machine(request: Request, answer: RequestResponseEndpoint) -> Response:
        response = await answer(request)
        response.headers["Content-Security-Policy"] = f"connect-src 'self' {' '.join(own)}"
        return response

    return made
