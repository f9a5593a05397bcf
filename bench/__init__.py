"""Measurements: each module prints one JSON object a line and is no test."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any


def parser_of(about: str | None) -> argparse.ArgumentParser:
    """Return a parser of options that shows a script's docstring as it is written."""
    return argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)


def tell(row: Mapping[str, Any]) -> None:
    """Print one line of the result, a JSON object."""
    print(json.dumps(row), flush=True)
