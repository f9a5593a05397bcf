"""Stages that the command line runs as flows."""

from __future__ import annotations

import os
from typing import Any

from httpx import HTTPError
from prefect.exceptions import PrefectException

from bife_core.cli.outcome import CommandEnd
from bife_core.run.config import PipelineConfig
from bife_core.run.observer import Observer
from bife_flows import stages
from bife_flows.operate import running


def run(shown: Observer, stage: str, config: PipelineConfig, *args: Any, **kwargs: Any) -> Any:
    """Run the flow of a stage; a `CommandEnd` says that Prefect could not."""
    try:
        return running.run(shown, getattr(stages, stage), config, *args, **kwargs)
    except (HTTPError, PrefectException, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not str(error).startswith("Failed to reach API"):
            raise
        address = os.environ.get("PREFECT_API_URL", "its embedded server")
        raise CommandEnd(f"Prefect's API at {address} cannot be used: {error}") from error
