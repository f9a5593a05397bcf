"""The search behind a rule, as the report of an evaluation tells of it."""

from __future__ import annotations

from pathlib import Path

from bife_core.store import Store
from tasks.evaluation_files import search_behind
from tests.support.journals import add_sample, opened, write_files


def test_where_a_searchs_rules_came_from_is_known_from_its_journal(tmp_path: Path) -> None:
    journal = opened("a", tmp_path, store=Store(tmp_path), origin="offline from the library")
    write_files(tmp_path, [add_sample(journal)])
    record = search_behind(str(tmp_path / "best_rule.py"))
    assert record is not None
    assert record.origin == "offline from the library"
    for left in tmp_path.glob("bife.db*"):
        left.unlink()
    (tmp_path / "bife.db").write_text("no database, " * 99)
    damaged = search_behind(str(tmp_path / "best_rule.py"))
    assert damaged is not None
    assert damaged.origin == ""
