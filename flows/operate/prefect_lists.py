"""Makes the lists of Prefect's forms open where they are clicked, in a copy of its pages that is the home's own.

Prefect 3.7 to 3.9 close a list (the decision of an approval, an operator of a search) with the click that opened it,
unless its arrow is hit.
"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Final

_MENDING: Final = '<script id="bife-lists">\n{script}</script>\n'
_MENDED: Final = re.compile(_MENDING.format(script=".*?"), re.DOTALL)


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
