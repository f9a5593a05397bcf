"""Retake the pictures in docs/images, all or the views named; a picture whose page lacks a text is not kept.

``--check`` only says whether this machine has what it takes to open pages.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bife_core.home import Home
from tests.browser.chromium import NoBrowserError, chromium, missing, window
from tests.browser.showing import something_to_see
from tests.browser.views import VIEWS

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES: Final = Path(__file__).parents[2] / "docs" / "images"
_COLOURS: Final = 256
"""Enough for a page, and a third of the bytes."""
_LARGEST: Final = 150_000
"""Bytes of a picture."""


def take(page: Page, path: Path, calm_ms: int) -> str | None:
    """Take a picture of a page as it is, and return what is wrong with it, or None."""
    from PIL import Image

    page.wait_for_timeout(calm_ms)
    page.screenshot(path=path)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(_COLOURS).save(path, optimize=True)
    size = path.stat().st_size
    return f"the picture has {size} bytes, more than {_LARGEST}" if size > _LARGEST else None


def main() -> None:
    """Take the pictures and print what each shows; exit with 1 if a page lacks something."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = ", ".join(view.name for view in VIEWS)
    parser.add_argument("views", nargs="*", metavar="VIEW", help=f"of {names}")
    parser.add_argument("--check", action="store_true", help="take no picture")
    arguments = parser.parse_args()
    unknown = {*arguments.views} - {view.name for view in VIEWS}
    if unknown:
        parser.error(f"there is no view {sorted(unknown)}")
    try:
        chromium()
    except NoBrowserError as error:
        sys.exit(str(error))
    if arguments.check:
        return
    wrong = 0
    with (
        tempfile.TemporaryDirectory(prefix="bife-pages-") as home,
        something_to_see(Home(Path(home))) as shown,
        window() as page,
    ):
        for view in VIEWS:
            if arguments.views and view.name not in arguments.views:
                continue
            view.open(page, shown)
            absent = missing(page, view.texts)
            trouble = f"lacks {absent}" if absent else take(page, IMAGES / f"{view.name}.png", view.calm_ms)
            print(view.name, trouble or "shows what it should", flush=True)
            wrong += trouble is not None
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
