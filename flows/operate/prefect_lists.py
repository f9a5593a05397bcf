"""Prefect's pages, in a copy of this home's own in which the lists of its forms open where they are clicked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from flows.operate.servers import START_LIMIT_S, Server

_MENDING: Final = '<script id="bife-lists">\n{script}</script>\n'
_MENDED: Final = re.compile(_MENDING.format(script=".*?"), re.DOTALL)


class PrefectServer(Server):
    """Prefect's server, with lists that open.

    Prefect 3.7 to 3.9 close a list (the decision of an approval, an operator of a search) with the click that opened
    it, unless its arrow is hit.

    Parameters
    ----------
    pages : Path
        Where Prefect keeps a copy of its pages; made at the first start.
    command, environment, health, log
        As for `Server`.
    """

    def __init__(
        self, pages: Path, command: Sequence[str], environment: Mapping[str, str], health: str, log: Path
    ) -> None:
        self._pages = pages
        # By default the copy is put into the installed package, which may be read-only and which other homes share.
        own = {"PREFECT_SERVER_UI_STATIC_DIRECTORY": str(pages)}
        super().__init__("Prefect", command, {**environment, **own}, health, log)

    def wait_ready(self, limit_s: float = START_LIMIT_S) -> None:
        """Return once the server answers and its lists open.

        Raises
        ------
        ServerError
            If it ends or takes too long, with the last thing it printed.
        """
        super().wait_ready(limit_s)
        mend(self._pages / "v1" / "index.html")


def mend(index: Path) -> None:
    """Add to Prefect's page what opens its lists; a second call changes nothing, and a missing page is left alone."""
    if not index.exists():  # Prefect may lay its pages out differently one day
        return
    page = index.read_text(encoding="utf-8")
    script = files(__package__).joinpath("prefect_lists.js").read_text(encoding="utf-8")
    head, end, rest = _MENDED.sub("", page).rpartition("</head>")
    mended = head + _MENDING.format(script=script) + end + rest
    if mended != page:
        index.write_text(mended, encoding="utf-8")
