"""Where BiFE keeps what all homes of a user share; a module of its own: asking costs no import of a compiler."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def compiled_code() -> Path:
    """Return where native code is kept: below ``BIFE_CACHE_DIR`` or the user's cache directory."""
    return _cache() / "native"


def core_slots() -> Path:
    """Return where processes of one machine agree on its cores: ``BIFE_CORE_SLOTS``, or beside native code."""
    configured = os.environ.get("BIFE_CORE_SLOTS")
    return Path(configured) if configured else _cache() / "cores"


def _cache() -> Path:
    configured = os.environ.get("BIFE_CACHE_DIR")
    return Path(configured) if configured else platformdirs.user_cache_path("bife")


def home() -> Path:
    """Return the folder that all runs of a user share: ``BIFE_HOME``, or the platform's place for user data."""
    configured = os.environ.get("BIFE_HOME")
    return (Path(configured).expanduser() if configured else platformdirs.user_data_path("bife")).resolve()
