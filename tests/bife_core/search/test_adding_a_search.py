"""The page docs/extending.md, followed to the letter."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from bife_core.config import SearchConfig
from bife_core.search import SEARCHES, Search, open_search
from bife_core.testing import World, drive, rebuilt
from tests.support import documents

PAGE = "docs/extending.md"


def config() -> SearchConfig:
    return SearchConfig(method="best_of", samples=12, initial=12, population=3)


@pytest.fixture(scope="module")
def blocks() -> list[str]:
    return documents.blocks("extending.md", "python", "Adding a search")


@pytest.fixture
def namespace(blocks: list[str]) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(blocks[0], str(PAGE), "exec", dont_inherit=True), names)
    return names


@pytest.fixture
def registered(namespace: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Callable[[], Search]:
    monkeypatch.setitem(SEARCHES, "best_of", namespace["BestOfSearch"])
    return lambda: open_search(config())


def test_the_example_prints_what_the_page_says(
    blocks: list[str], namespace: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(blocks[1], str(PAGE), "exec", dont_inherit=True), namespace)
    expected = re.search(r"print\(.*# (.*)", blocks[1])
    assert expected is not None
    assert capsys.readouterr().out.strip() == expected[1]


@pytest.mark.parametrize("failing", [0.0, 0.4, 1.0])
def test_the_example_keeps_to_the_contract(registered: Callable[[], Search], failing: float) -> None:
    world = World(seed=1, failing=failing, repeating=0.3)
    search = registered()
    assert isinstance(search, Search)
    told = []
    while requests := search.ask():
        assert search.ask() == requests
        with pytest.raises(ValueError, match="Expected"):
            search.tell(())
        answers = tuple(world(request) for request in requests)
        search.tell(answers)
        told.append(answers)
    assert len(search.samples) == config().samples
    assert (search.best is None) == (failing == 1)
    assert [summary.samples for summary in search.summaries] == [config().samples]
    copy = rebuilt(config(), told)
    assert copy.samples == search.samples
    assert drive(copy, world) == ()


def test_the_page_names_what_exists() -> None:
    text = (documents.DOCS / "extending.md").read_text(encoding="utf-8")
    found = re.findall(r"`((?:bife_core|tests|flows|tasks)/[\w/]+\.py)`", text)
    assert len(found) >= 4
    for path in found:
        assert (documents.DOCS.parent / path).exists(), path
