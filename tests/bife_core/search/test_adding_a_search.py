"""The page docs/extending.md, followed to the letter."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bife_core.search import SEARCHES
from bife_core.testing import check_search
from tests.support import documents

PAGE = "docs/extending.md"


@pytest.fixture(scope="module")
def blocks() -> list[str]:
    return documents.blocks("extending.md", "python", "Adding a search")


@pytest.fixture
def namespace(blocks: list[str]) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(blocks[0], str(PAGE), "exec", dont_inherit=True), names)
    return names


def test_the_example_prints_what_the_page_says(
    blocks: list[str], namespace: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(blocks[1], str(PAGE), "exec", dont_inherit=True), namespace)
    expected = re.search(r"print\(.*# (.*)", blocks[1])
    assert expected is not None
    assert capsys.readouterr().out.strip() == expected[1]


def test_the_example_keeps_to_the_contract(
    namespace: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SEARCHES, "best_of", namespace["BestOfSearch"])
    check_search("best_of")


def test_the_page_names_what_exists() -> None:
    text = (documents.DOCS / "extending.md").read_text(encoding="utf-8")
    found = re.findall(r"`((?:bife_core|tests|flows|tasks)/[\w/]+\.py)`", text)
    assert len(found) >= 4
    for path in found:
        assert (documents.DOCS.parent / path).exists(), path
