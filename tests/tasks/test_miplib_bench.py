"""The table of a folder of unlike instances: its numbers on paper, and a run that goes on where it stopped."""

import shutil
import sys
from pathlib import Path

import pytest

from bench import miplib, tables
from tests.support.measured import BASELINE, LIMIT_S, RULE, summary

FOREIGN = Path(__file__).parents[1] / "data" / "foreign"


def test_the_numbers_of_a_folder_worked_by_hand():
    # The third is solved by neither, the fourth by the baseline alone; the second is too short for the worst ratio.
    *instances, facts, baseline, rule = miplib.rows(summary([8.0, 0.9, 100.5, None], [2.0, 0.1, 100.2, 24.0]))
    assert [one["instance"] for one in instances] == ["m0", "m1", "m2", "m3"]
    assert instances[3]["cpu_s"] == {RULE.name: LIMIT_S, BASELINE.name: 24.0}
    assert instances[3]["not_proven"] == {RULE.name: 1, BASELINE.name: 0}
    assert (facts["instances"], facts["not_branched"], len(facts["failures"])) == (4, 0, 1)
    assert (baseline["method"], baseline["solved"], baseline["not_proven"]) == (BASELINE.name, 3, 1)
    assert baseline["sgm_cpu_s"] == pytest.approx((3 * 1.1 * 101 * 25) ** 0.25 - 1, abs=0.01)
    assert (rule["solves"], rule["solved"], rule["not_proven"]) == (4, 2, 2)
    assert rule["sgm_cpu_s"] == pytest.approx((9 * 1.9 * 101 * 101) ** 0.25 - 1, abs=0.01)
    assert rule["sgm_cpu_s_ratio"] == pytest.approx(rule["sgm_cpu_s"] / baseline["sgm_cpu_s"], abs=0.002)
    assert rule["ratio"] == pytest.approx((4 * 9 * 1 * 100 / 24) ** 0.25, abs=0.001)
    assert rule["ci_low"] < rule["ratio"] < rule["ci_high"]
    assert (rule["worst"], rule["worst_instance"]) == (pytest.approx(100 / 24, abs=0.001), "m3")
    assert (rule["node_instances"], rule["sgm_nodes"], rule["sgm_nodes_ratio"]) == (2, 10.0, 1.0)


def test_where_all_are_short_there_is_no_worst_and_where_none_is_solved_by_all_no_nodes():
    *_, rule = miplib.rows(summary([None], [0.2]))
    assert (rule["node_instances"], rule["ci_low"], "sgm_nodes" in rule) == (0, None, False)
    *_, rule = miplib.rows(summary([0.5], [0.4]))
    assert "worst" not in rule


@pytest.mark.usefixtures("in_process")
def test_a_folder_is_solved_once_and_made_into_a_table(tmp_path, monkeypatch, capsys):
    (folder := tmp_path / "models").mkdir()
    shutil.copy(FOREIGN / "lseu.mps", folder)
    options = ["--methods", "relpscost", "general,budget=0.5", "--seeds", "0", "--time-limit", "20"]
    monkeypatch.setattr(sys, "argv", ["miplib", str(folder), *options, "--store", str(tmp_path / "store")])
    miplib.main()
    first = capsys.readouterr().out
    miplib.main()
    assert capsys.readouterr().out == first, "all solves were stored"
    (printed := tmp_path / "rows.jsonl").write_text(first)
    monkeypatch.setattr(sys, "argv", ["tables", str(printed)])
    tables.main()
    assert "| general,budget=0.5 | 1 | 0 |" in capsys.readouterr().out
