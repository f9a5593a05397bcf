"""Rules from a grammar instead of a language model: free, offline and the same for the same seed."""

from __future__ import annotations

from bife_core.generators.offline.generator import OfflineGenerator

__all__ = ["OfflineGenerator"]
