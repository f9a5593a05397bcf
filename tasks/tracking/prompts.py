"""Prompt templates in MLflow's prompt registry: a version each time a text changes, tied to the runs that used it."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from mlflow.entities.model_registry import PromptVersion

from bife_core.generators.prompting import prompt_templates, prompt_version
from tasks.stores import home_store
from tasks.tracking import store

_PREFIX: Final = "bife_prompt_"
_ABOUT: Final = "Prompt template of BiFE; `bife_core/generators/prompts/` holds its parts."


def link_prompts(run_id: str, operators: Collection[str], used: str | None = None) -> None:
    """See that the registry holds the templates of some operators, and note on a run which versions it used.

    Parameters
    ----------
    operators : collection of str
        Those that have no template, such as reflections, are passed over.
    used : str or None
        `prompt_version` of the templates the run used; if those in use are others by now, they are none of the run's
        and nothing is done.

    Raises
    ------
    MlflowException
        If the registry does not take them.
    """
    if used not in (None, prompt_version()):
        return
    client = store.client()
    with home_store().claim("prompts"):
        for operator, template in prompt_templates().items():
            if operator not in operators:
                continue
            client.link_prompt_version_to_run(run_id, _current(f"{_PREFIX}{operator}", _braced(template)))


def _current(name: str, template: str) -> PromptVersion:
    client = store.client()
    latest: PromptVersion | None = client.load_prompt(f"prompts:/{name}@latest", allow_missing=True)
    if latest is not None and latest.template == template:
        return latest
    tags = {"prompt_version": prompt_version()}
    made: PromptVersion = client.register_prompt(name, template, commit_message=_ABOUT, tags=tags)
    return made


def _braced(template: str) -> str:
    """Return a template with its fields written as MLflow's pages know them: ``{{benchmark}}``."""
    return re.sub(r"\$([a-z_]+)", r"{{\1}}", template)
