"""Rivals of BiFE, registered by entry points alone: searches, cut selection, and networks as methods."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def prompt(operator: str) -> str:
    """Return the text of an operator's part of the prompt, from the folder ``prompts``."""
    return (resources.files("bife_rivals") / "prompts" / f"{operator}.md").read_text(encoding="utf-8")
