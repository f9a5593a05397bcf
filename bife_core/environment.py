"""Settings files, lines of NAME=value, which the environment wins over."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from dotenv import dotenv_values

from bife_core.places import home

SETTINGS_FILE = "mlflow.env"
"""Name of a settings file."""


def read_settings_files() -> None:
    """Add what settings files say to the environment; calling it again changes nothing.

    Files are read in the order ``$BIFE_ENV_FILE``, ``./mlflow.env``, ``<home>/mlflow.env``. The environment wins over
    every file, and an earlier file over a later one; empty values count as absent.
    """
    named = os.environ.get("BIFE_ENV_FILE")
    adopt(dotenv_values(Path(named).expanduser(), interpolate=False) if named else {})
    adopt(dotenv_values(Path.cwd() / SETTINGS_FILE, interpolate=False))
    adopt(dotenv_values(home() / SETTINGS_FILE, interpolate=False))


def adopt(values: Mapping[str, str | None]) -> None:
    """Add values to the environment where it has none."""
    for name, value in values.items():
        if value and not os.environ.get(name):
            os.environ[name] = value
