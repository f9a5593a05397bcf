"""Rival searches of BiFE: EoH, ReEvo, LLM4Branch, Symb4CO and GS4CO, registered by entry points alone."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def prompt(operator: str) -> str:
    """Return the text of an operator's part of the prompt, from the folder ``prompts``."""
    return (resources.files("bife_rivals") / "prompts" / f"{operator}.md").read_text(encoding="utf-8")
