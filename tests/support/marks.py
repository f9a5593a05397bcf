"""Which cases of a test run only where there is time."""

import pytest


def long_but(values, quick):
    """Mark what only `make long` looks at: all but the quick ones."""
    return [pytest.param(value, marks=() if value in quick else pytest.mark.long) for value in values]
