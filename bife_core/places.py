"""Where BiFE keeps what it can make again; a module of its own, so that asking costs no import of a compiler."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def compiled_code() -> Path:
    """Return where native code is kept: below ``BIFE_CACHE_DIR`` or the user's cache directory."""
    configured = os.environ.get("BIFE_CACHE_DIR")
    return (Path(configured) if configured else platformdirs.user_cache_path("bife")) / "native"
