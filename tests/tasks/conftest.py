"""A search's folder."""

import uuid

import pytest

from tests.support import journals


@pytest.fixture
def key():
    return uuid.uuid4().hex[:16]


@pytest.fixture
def folder(home, key):
    """The folder of a search that no other test uses."""
    return home / "runs" / key


@pytest.fixture
def journal(key, folder):
    return journals.opened(key, folder, origin="offline from the library")
