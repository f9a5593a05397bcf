"""Chromium, if this machine has what it takes; otherwise a sentence on what to install."""

import importlib.util
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

WIDTH = 1440
HEIGHT = 900
LIMIT_MS = 180_000
"""Milliseconds a page has for what is expected of it: a machine that is busy is slow."""

_WELCOMED = """
    localStorage.setItem("mlflow.assistant.fab.autoOpenedOnFirstLoad_v1", "true");
    localStorage.setItem("mlflow.assistant.panelOpen_v1", "false");
    localStorage.setItem("mlflow.detectIssues.guidanceShown_v1", "true");
"""
"""What MLflow's pages remember of a reader who has closed its greetings, which cover what is to be seen."""

_NAMES = ("chromium", "chromium-browser", "google-chrome")


class NoBrowserError(RuntimeError):
    """Something must be installed before pages can be opened."""


def chromium():
    """Return the path of Chromium; raise `NoBrowserError` if it or what drives it is not installed."""
    if importlib.util.find_spec("playwright") is None:
        raise NoBrowserError("playwright is missing: run `make browser`.")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None or not Path(found).exists():
        raise NoBrowserError(
            "Install Chromium (Debian: apt-get install chromium), or set CHROMIUM to its path."
        )
    return found


@contextmanager
def window(outside=None):
    """Open an empty page of desktop width that reaches this machine only.

    `outside` gets the addresses at other machines that the pages ask for; they are answered that there is no network.
    """
    from playwright.sync_api import sync_playwright

    asked = outside if outside is not None else set()

    def elsewhere(route):
        asked.add(route.request.url.partition("?")[0])
        route.abort("internetdisconnected")

    def opened(socket):
        if not socket.url.startswith("ws://127.0.0.1:"):
            asked.add(socket.url.partition("?")[0])

    with sync_playwright() as playwright:
        # As root, as in a container, Chromium does without its own sandbox; the pages are ours.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium(), args=options)
        size = {"width": WIDTH, "height": HEIGHT}
        # What moves takes much of a processor's time to draw.
        calm = {"color_scheme": "light", "reduced_motion": "reduce"}
        page = browser.new_page(viewport=size, timezone_id="UTC", locale="en-GB", **calm)
        page.context.set_default_timeout(LIMIT_MS)  # of new tabs too
        page.add_init_script(_WELCOMED)
        page.on("websocket", opened)
        page.route(
            lambda url: not url.startswith(("http://127.0.0.1:", "file:", "data:", "blob:")), elsewhere
        )
        try:
            yield page
        finally:
            browser.close()


def missing(page, texts):
    """Return which texts do not get visible on a page, its frames included."""
    from playwright.sync_api import Error

    absent = []
    for text in texts:
        found = page.get_by_text(text).filter(visible=True).first
        try:
            found.wait_for(state="visible")
        except Error:
            absent.append(text)
    return absent
