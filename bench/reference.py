"""Write docs/reference/api.md, the public interface, from the docstrings: `python -m bench.reference`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import griffe
from griffe2md import ConfigDict, default_config, render_object_docs

import bife_core

PAGE: Final = Path(__file__).parents[1] / "docs" / "reference" / "api.md"
_HEAD: Final = """# API reference

The names of `bife_core`, written from their docstrings by `python -m bench.reference`. What other modules hold is not
public and may change; what a package of your own may rely on besides is in [extending
BiFE](../developers/extending.md). All functions raise a `ConfigError`, a `BifeError` like all others, for an argument
of another type than they take.

"""
_OPTIONS: Final[ConfigDict] = {
    **default_config,
    "docstring_style": "numpy",
    "inherited_members": False,
    "show_bases": False,
    "show_if_no_docstring": False,
    "show_object_full_path": False,
    "show_root_full_path": False,
    "show_root_members_full_path": False,
    "show_signature_annotations": True,
    "summary": False,
}


def page() -> str:
    package = griffe.load("bife_core", docstring_parser="numpy", resolve_aliases=True)
    entries = [render_object_docs(package[name].final_target, _OPTIONS) for name in dir(bife_core)]
    # Links to what the page does not have.
    text = re.sub(r"\[([^\]]+)\]\(#[^)]+\)", r"\1", "\n\n".join(entries))
    text = re.sub(r"\*\*(\*+\w+)\*\*", r"`\1`", text)
    return _HEAD + re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
