"""`bife config`: what a run would use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.consoles import show_table, standard_output
from flows.cli.options import with_configuration

if TYPE_CHECKING:
    from pydantic import BaseModel

    from bife_core.config import PipelineConfig


@with_configuration()
def config(
    *,
    config: PipelineConfig,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, to keep as a file for --config.")
    ] = False,
) -> None:
    """Print every setting with its value and meaning, as the given options resolve it."""
    if as_json:
        typer.echo(json.dumps(config.model_dump(mode="json"), indent=2))
        return
    rows = [(name, json.dumps(value), meaning) for name, value, meaning in settings_of(config)]
    show_table(standard_output(), ("setting", "value", "meaning"), rows, numbers=False)


def settings_of(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """Yield (dotted key, value as JSON has it, description) of all settings."""
    from pydantic import BaseModel

    values = model.model_dump(mode="json")
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from settings_of(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", values[name], field.description or ""
