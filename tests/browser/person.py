"""A person at the pages, whose clicks are counted."""

from tests.browser.chromium import missing
from tests.support.operating import until

EMPTY = ("All runs are filtered", "No runs logged", "0 Flow runs")
"""What pages say that have nothing to show."""


class Person:
    """A reader who begins at the page at an address that `bife up` prints, by its name there."""

    def __init__(self, page, shown, name):
        self.page, self.clicks = page, 0
        page.goto("about:blank")
        page.goto(shown.up.printed[name])

    def click(self, role, name, *, new_tab=False):
        """Click on what has this role and name; a link of MLflow's descriptions opens a `new_tab`."""
        target = self.page.get_by_role(role, name=name, exact=True).filter(visible=True).first
        self.clicks += 1
        if not new_tab:
            target.click()
            return
        with self.page.context.expect_page() as opened:
            target.click()
        self.page = opened.value

    def until(self, condition, what):
        """Wait until something holds and return it; only in waits of the page does it send what a click asked for."""
        return until(lambda: self.page.wait_for_timeout(100) or condition(), what)

    def sees(self, *texts):
        """Wait for texts, and require that the page is not one without content."""
        assert missing(self.page, texts) == [], self.page.locator("body").inner_text()
        assert [text for text in EMPTY if self.page.get_by_text(text).filter(visible=True).count()] == []
