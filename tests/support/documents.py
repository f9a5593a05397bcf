"""Parts of the pages in docs/, for the tests that follow them to the letter."""

import re
from pathlib import Path
from textwrap import dedent

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page, language, section=None):
    """Return the blocks of code of a page, or of one of its sections of the second level."""
    text = (DOCS / page).read_text(encoding="utf-8")
    if section is not None:
        (text,) = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", text, re.MULTILINE | re.DOTALL)
    return [dedent(code) for _, code in found]
