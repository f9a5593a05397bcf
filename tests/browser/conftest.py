"""A browser's window, and something to see in it, once for all tests here."""

import pytest

from bife_core.store.home import Home
from tests.browser.chromium import chromium, window
from tests.browser.person import Person
from tests.browser.showing import something_to_see


@pytest.fixture(scope="session")
def shown(tmp_path_factory):
    chromium()  # says what is missing before anything takes minutes
    with something_to_see(Home(tmp_path_factory.mktemp("shown"))) as something:
        yield something


@pytest.fixture(scope="session")
def outside():
    """Addresses at other machines that the pages asked for."""
    return set()


@pytest.fixture(scope="session")
def page(shown, outside):
    with window(outside) as opened:
        yield opened


@pytest.fixture
def person(page, shown):
    opened = []

    def comes(name):
        opened.append(Person(page, shown, name))
        return opened[-1]

    yield comes
    for each in opened:
        if each.page is not page:
            each.page.close()
