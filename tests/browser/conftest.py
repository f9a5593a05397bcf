"""A browser's window, and something to see in it, once for all tests here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from bife_core.home import Home
from tests.browser.chromium import chromium, window
from tests.browser.showing import Shown, something_to_see

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    chromium()  # says what is missing before anything takes minutes
    with something_to_see(Home(tmp_path_factory.mktemp("shown"))) as something:
        yield something


@pytest.fixture(scope="session")
def outside() -> set[str]:
    """Addresses at other machines that the pages asked for."""
    return set()


@pytest.fixture(scope="session")
def page(shown: Shown, outside: set[str]) -> Iterator[Page]:
    with window(outside) as opened:
        yield opened
