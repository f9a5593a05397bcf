"""What the documents refer to is there: files, pictures, and headings of pages."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from bench import reference
from bife_core.tuning.space import table

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
_LINK = re.compile(r"\]\((?!https?://|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, made as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page):
    for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{page.name} refers to {target}, which is not there"
        if anchor:
            assert anchor in anchors(there), f"{page.name} refers to {target}#{anchor}, which is no heading"


def test_every_picture_is_shown():
    links = [(page, name) for page in PAGES for name, _ in _LINK.findall(page.read_text(encoding="utf-8"))]
    shown = {(page.parent / name).resolve() for page, name in links if name}
    assert {*(ROOT / "docs" / "images").iterdir()} <= shown


def test_the_commands_of_measurements_exist():
    for page in PAGES:
        for name in re.findall(r"python -m (bench\.\w+)", page.read_text(encoding="utf-8")):
            assert (ROOT / f"{name.replace('.', '/')}.py").exists(), (
                f"{page.name} names {name}, which does not exist"
            )


def test_the_index_names_every_page():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"} == {
        target for target, _ in _LINK.findall(index) if "/" not in target
    }


def test_the_rows_that_are_tuned_are_counted():
    text = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")
    counts = Counter(row.group for row in table())
    assert re.findall(r"^\| ([\w ]+) \| (\d+) \|", text, flags=re.MULTILINE) == [
        (group, str(count)) for group, count in counts.items()
    ]
    assert f"{counts.total()} rows of one table" in text


def test_the_reference_is_what_the_docstrings_say():
    text = reference.PAGE.read_text(encoding="utf-8")
    assert text == reference.page(), "docs/api.md is out of date: run `python -m bench.reference`"
