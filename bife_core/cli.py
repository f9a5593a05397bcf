"""The command `bife`, whose commands are those of the folders `flows/` and `tasks/` of a checkout."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Final

_CHECKOUT: Final = Path(__file__).resolve().parents[1]
_COMMANDS: Final = "flows.cli"


def main() -> None:
    """Run the command line of the checkout that `bife_core` lies in."""
    if not (_CHECKOUT / "flows" / "cli").is_dir():
        sys.exit(
            "The command `bife` runs from a checkout of BiFE: clone the repository and run `make setup` there. "
            "The library itself is complete: `import bife_core`."
        )
    if str(_CHECKOUT) not in sys.path:
        sys.path.insert(0, str(_CHECKOUT))
    import_module(_COMMANDS).main()
