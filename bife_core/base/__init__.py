"""What everything else is built on: values, errors, files, places, plugins, wording and statistics."""

VERSION = "0.1.0"
"""Version of this package, as in `pyproject.toml`: to read the installed metadata takes longer than a small solve."""
