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
    return Path(os.environ.get("BIFE_CORE_SLOTS") or _cache() / "cores")


def _cache() -> Path:
    return Path(os.environ.get("BIFE_CACHE_DIR") or platformdirs.user_cache_path("bife"))


def home() -> Path:
    """Return the folder that all runs of a user share: ``BIFE_HOME``, or the platform's place for user data."""
    return Path(os.environ.get("BIFE_HOME") or platformdirs.user_data_path("bife")).expanduser().resolve()
