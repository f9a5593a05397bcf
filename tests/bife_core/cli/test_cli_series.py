import re
import signal
import subprocess
from unittest.mock import Mock

import pytest

from bife_core import Series
from bife_core.base.errors import InterruptedSolveError
from tests.support.programs import FOREIGN, PROGRAM, environment
from tests.support.texts import cover

LSEU = FOREIGN / "lseu.mps"


@pytest.fixture
def days(tmp_path):
    """Three instances in a folder, each with more solutions than the one before."""
    (folder := tmp_path / "days").mkdir()
    for number in range(3):
        (folder / f"day{number}.lp").write_text(cover(least=1, most=1 + number))
    return folder


def test_a_folder_is_solved_in_order_and_all_configurations_shown(bife, days):
    done = bife("series", "days", days, "--time-limit", 10)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines[:6:2]] == ["day0.lp", "day1.lp", "day2.lp"]
    assert lines[0] == "day0.lp: SCIP default settings, since it is the first; no starts."
    assert lines[1].startswith("  optimal after ")
    assert lines[2].endswith("starts from 1 earlier solution, 5 of 5 names match.")
    assert "separating fast, branching general" in done.stdout.partition("configuration")[2]


def test_no_reuse_and_further_configurations(bife, days, tmp_path):
    (tmp_path / "lean.set").write_text("separating/maxrounds = 0\n")
    done = bife("series", "lean", days, "--time-limit", 10, "--no-reuse", "--rule", tmp_path / "lean.set")
    assert done.stdout.count("no starts.") == 3
    assert re.search(r"day1.lp: lean \(\w{8}\), since it was not tried yet", done.stdout)


def test_solutions_are_written_beside_each_other(bife, days, tmp_path):
    (days / "day3.lp").write_text((days / "day0.lp").read_text())  # which is solved before
    bife("series", "days", days, "--time-limit", 10, "--solutions", tmp_path / "found")
    assert {path.name for path in (tmp_path / "found").iterdir()} == {f"day{n}.lp.sol" for n in range(4)}
    (tmp_path / "file").touch()
    refused = bife("series", "days", days, "--time-limit", 10, "--solutions", tmp_path / "file")
    assert (refused.exit_code, refused.stdout, "file" in refused.stderr) == (1, "", True)


def test_no_instance_is_written_over_and_a_name_that_scip_cannot_read_is_said(bife, days, tmp_path):
    (link := tmp_path / "day1.lp.sol").symlink_to(days / "day0.lp")
    given = ("--time-limit", 10, "--solutions", tmp_path)
    done = bife("series", "days", days, *given)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "day1.lp.sol is read and would be written over" in done.stderr
    link.unlink()
    head = "STATISTICS\n Problem name : a\nOBJECTIVE\n Sense : maximize\nVARIABLES\n"
    model = f"{head} [integer] <a b>: obj=1, original bounds=[0,3]\nEND\n"
    (days / "day0.cip").write_text(model)
    (tmp_path / "day0.cip.sol").write_text("of before")
    done = bife("series", "days", days, *given)
    assert (done.exit_code, "rename the variable 'a b'" in done.stdout) == (1, True)
    assert sorted(path.name for path in tmp_path.glob("*.sol")) == [f"day{n}.lp.sol" for n in range(3)]


def test_the_solution_of_a_file_that_changed_does_not_stay(bife, days, tmp_path):
    one, given = tmp_path / "one.lp", ("--time-limit", 10, "--solutions", tmp_path / "found")
    one.write_text(cover(least=1))
    bife("series", "days", one, *given)
    assert (tmp_path / "found" / "one.lp.sol").exists()
    one.write_text(cover(least=99))
    assert "infeasible" in bife("series", "days", one, *given).stdout
    assert not (tmp_path / "found" / "one.lp.sol").exists()
    (tmp_path / "found" / "one.lp.sol").write_text("of before")
    one.write_text("no model")
    assert bife("series", "days", one, *given).exit_code == 1
    assert not (tmp_path / "found" / "one.lp.sol").exists()


def test_files_that_cannot_be_read_are_told_and_the_others_solved(bife, days):
    (days / "day0.lp").write_text("no model")
    (days / "day1.lp").unlink()
    files = [days / f"day{number}.lp" for number in range(3)]
    done = bife("series", "broken", *files, "--time-limit", 10)
    assert done.exit_code == 1
    assert "day2.lp: SCIP default settings, since it is the first" in done.stdout
    assert done.stdout.startswith("day0.lp, line 1: ")
    assert done.stderr == "Error: Not solved: day0.lp, day1.lp; the reasons stand above.\n"


def test_a_solution_that_misses_a_row_is_named(bife, tmp_path):
    rows = "Subject To\n far: 1e-7 x + 1e-7 y >= 2e-7\nBounds\n x <= 9\n y <= 9\n"
    (tmp_path / "tiny.lp").write_text(f"Minimize\n obj: x + y\n{rows}Generals\n x y\nEnd\n")
    done = bife("series", "tiny", tmp_path / "tiny.lp", "--time-limit", 10)
    assert "  tiny.lp: the best solution misses far by 2e-07 with its integers rounded." in done.stdout


def test_a_forgotten_name_and_a_forgotten_limit_are_noticed(bife, days):
    done = bife("series", sorted(days.iterdir())[0], days, "--time-limit", 10)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "NAME is what the series is called" in done.stderr
    assert bife("series", "days", days).exit_code == 2


def test_no_solution_is_written_over_another(bife, days, tmp_path):
    (tmp_path / "day0.lp").write_text(cover(least=1))
    command = ("series", "days", days, tmp_path / "day0.lp", "--time-limit", 10)
    done = bife(*command, "--solutions", tmp_path / "found")
    assert done.stderr.startswith("Error: Several instances have the same name")
    assert bife(*command).exit_code == 0


def test_ctrl_c_ends_the_series(bife, days, monkeypatch):
    sentence = "The solve of day0.lp was interrupted."
    monkeypatch.setattr(Series, "solve", Mock(side_effect=InterruptedSolveError(sentence)))
    done = bife("series", "days", days, "--time-limit", 10)
    assert (done.exit_code, done.stderr) == (130, f"Error: {sentence}\n")


def test_what_a_killed_series_has_solved_is_not_solved_again(days, tmp_path):
    """It is killed in the third instance, which takes a while."""
    files = [days / "day0.lp", days / "day1.lp", LSEU, days / "day2.lp"]
    command = [*PROGRAM, "series", "days", *map(str, files), "--time-limit", "10"]
    outside = environment(tmp_path / "home", BIFE_PLAIN="1")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=outside) as begun:
        lines = [begun.stdout.readline() for _ in range(5)]
        begun.send_signal(signal.SIGKILL)
    assert lines[4].startswith("lseu.mps")
    again = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=outside, check=True).stdout
    assert [f"{file.name}: solved before" in again for file in files] == [True, True, False, False]
