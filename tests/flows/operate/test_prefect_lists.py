"""What is added to Prefect's pages; that lists open by it is seen in a browser (`make browser`)."""

from __future__ import annotations

from pathlib import Path

import prefect
import pytest

from flows.operate.prefect_lists import mend

PAGE = "<html><head><title>Prefect</title></head><body>Über <header>runs</header></body></html>"


@pytest.fixture
def index(tmp_path):
    page = tmp_path / "index.html"
    page.write_text(PAGE, encoding="utf-8")
    return page


def test_a_page_keeps_all_it_had(index):
    mend(index)
    before, _, after = index.read_text(encoding="utf-8").partition('<script id="bife-lists">')
    assert before + after.partition("</script>\n")[2] == PAGE
    assert "p-select-button" in after


def test_a_mended_page_stays_as_it_is(index):
    mend(index)
    once = index.read_text(encoding="utf-8")
    mend(index)
    assert index.read_text(encoding="utf-8") == once


def test_an_earlier_mending_is_replaced(index):
    mend(index)
    now = index.read_text(encoding="utf-8")
    index.write_text(now.replace("p-select-button", "p-list"), encoding="utf-8")
    mend(index)
    assert index.read_text(encoding="utf-8") == now


def test_a_page_that_is_not_there_is_none_of_our_business(tmp_path):
    mend(tmp_path / "index.html")
    assert list(tmp_path.iterdir()) == []


def test_what_the_script_looks_for_is_in_the_installed_pages():
    assets = Path(prefect.__ui_static_path__) / "assets"
    said = "".join(script.read_text(encoding="utf-8") for script in assets.glob("index-*.js"))
    assert {name for name in ("p-select-button", "p-select--open") if name not in said} == set()
