"""The reference rules: one file each in `bife_core/rules/reference`, described by its own header.

A file's docstring starts with one sentence; the paragraphs ``Origin:`` and, if it is the reference of a
benchmark, ``Benchmark:`` follow. Adding a rule is adding a file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from bife_core.errors import RuleError
from bife_core.syntax import syntax_tree


@dataclass(frozen=True, slots=True)
class ReferenceRule:
    """A rule that comes with BiFE.

    Attributes
    ----------
    name : str
        File name without suffix.
    source : str
        Python text.
    summary : str
        What it does, in one sentence.
    origin : str
        Who published it, or that it is ours.
    benchmark : str or None
        The benchmark whose reference it is.
    """

    name: str
    source: str
    summary: str
    origin: str
    benchmark: str | None


def read_header(name: str, source: str) -> ReferenceRule:
    """Read a rule's description from its docstring.

    Raises
    ------
    RuleError
        If there is no docstring, or it names no origin.
    """
    text = ast.get_docstring(syntax_tree(source)) or ""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]
    fields = {
        key: paragraph.removeprefix(f"{key}:").strip()
        for key in ("Origin", "Benchmark")
        for paragraph in paragraphs
        if paragraph.startswith(f"{key}:")
    }
    if not paragraphs or not fields.get("Origin"):
        raise RuleError(f"The reference rule {name!r} needs a docstring with a paragraph 'Origin: ...'.")
    return ReferenceRule(name, source, paragraphs[0], fields["Origin"], fields.get("Benchmark"))


def _sources() -> Iterator[Traversable]:
    folder = files("bife_core.rules") / "reference"
    yield from sorted(
        (file for file in folder.iterdir() if file.name.endswith(".py")), key=lambda file: file.name
    )


def _read_all() -> dict[str, ReferenceRule]:
    names = ((file.name.removesuffix(".py"), file) for file in _sources())
    return {name: read_header(name, file.read_text(encoding="utf-8")) for name, file in names}


REFERENCE_RULES: Final[Mapping[str, ReferenceRule]] = _read_all()
"""All reference rules by name."""

BENCHMARK_RULES: Final[Mapping[str, str]] = {
    rule.benchmark: rule.name for rule in REFERENCE_RULES.values() if rule.benchmark is not None
}
"""Benchmark to the name of its reference rule."""
