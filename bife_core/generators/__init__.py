"""Rule generators: a model API, an offline grammar, and recorded answers, behind one method.

To add one, write a class with `name` and `generate`, and enter a function that makes it in `GENERATORS`;
`docs/adding-a-generator.md` shows how.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from bife_core.config import GeneratorConfig
from bife_core.errors import GeneratorError
from bife_core.generators.base import (
    Attempt,
    Generation,
    GenerationRequest,
    Generator,
    Message,
    ParentRule,
)

__all__ = [
    "GENERATORS",
    "Attempt",
    "Generation",
    "GenerationRequest",
    "Generator",
    "Message",
    "ParentRule",
    "open_generator",
]


# Modules are imported when their generator is asked for: the openai package takes most of a second to load.
def _offline(config: GeneratorConfig, calls_dir: Path) -> Generator:
    from bife_core.generators.offline import OfflineGenerator

    return OfflineGenerator()


def _openai(config: GeneratorConfig, calls_dir: Path) -> Generator:
    from bife_core.generators.calls import CallStore
    from bife_core.generators.model_settings import ModelApiSettings
    from bife_core.generators.openai_compatible import OpenAIGenerator

    chosen = {"model": config.model, "temperature": config.temperature}
    update = {name: value for name, value in chosen.items() if value is not None}
    settings = ModelApiSettings.from_environment().model_copy(update=update)
    return OpenAIGenerator(settings, CallStore(calls_dir))


def _replay(config: GeneratorConfig, calls_dir: Path) -> Generator:
    from bife_core.generators.replay import ReplayGenerator

    if config.replay_from is None:
        raise GeneratorError("The replay generator needs 'replay_from', a directory of recorded answers.")
    return ReplayGenerator(config.replay_from)


GENERATORS: Final[dict[str, Callable[[GeneratorConfig, Path], Generator]]] = {
    "offline": _offline,
    "openai": _openai,
    "replay": _replay,
}
"""Maker of every generator, by the `kind` of its configuration."""


def open_generator(config: GeneratorConfig, calls_dir: Path) -> Generator:
    """Return the generator that `config` names.

    Parameters
    ----------
    config : GeneratorConfig
        Kind and, for a model API, model and temperature; address and key come from the environment.
    calls_dir : Path
        Directory in which calls to a model API are recorded and found again.

    Raises
    ------
    GeneratorError
        If the generator cannot be set up: a setting is missing or the recorded answers are.
    """
    return GENERATORS[config.kind](config, calls_dir)
