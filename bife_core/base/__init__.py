"""What everything else is built on: values, errors, files, places, plugins, wording and statistics."""

VERSION = "0.1.0"
"""Version of this package, which `pyproject.toml` takes from here."""
