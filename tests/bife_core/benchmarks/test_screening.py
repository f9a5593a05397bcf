from __future__ import annotations

import gzip
import os
import shutil

import pytest
from pyscipopt import Model

from bife_core.benchmarks.generated import content_digest
from bife_core.benchmarks.screening import screen
from bife_core.errors import InstanceError
from bife_core.scip.reading import model_format, read_model

LINEAR = "Minimize\n obj: x + y\nSubject To\n c: x + y >= 1.5\nBounds\n x <= 10\n y <= 10\n"


def written(path, content):
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(content)
    return path


def assert_one_sentence(message):
    assert "\n" not in message
    assert message.endswith(".")
    assert message[:-1].count(". ") == 0
    assert "Traceback" not in message


def refusal(path):
    with pytest.raises(InstanceError) as caught:
        screen(path)
    assert_one_sentence(str(caught.value))
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "n_vars", "n_integer", "n_cons"),
    [("lseu.mps", 89, 89, 28), ("stein27_inf.lp", 27, 27, 119), ("semicon1.mps", 5, 0, 5)],
)
def test_models_of_others_are_read(foreign, name, n_vars, n_integer, n_cons):
    facts = screen(foreign / name)
    assert (facts.n_vars, facts.n_integer, facts.n_cons) == (n_vars, n_integer, n_cons)
    assert facts.digest == content_digest((foreign / name).read_bytes())


def test_integer_variables_are_counted_with_binary_ones(tmp_path):
    path = written(tmp_path / "mixed.lp", LINEAR + " z <= 4\nGeneral\n x\nBinary\n y\nEnd\n")
    facts = screen(path)
    assert (facts.n_vars, facts.n_integer) == (3, 2)


@pytest.mark.parametrize("name", ["a.mps.gz", "A.MPS", "A.MPS.GZ", "two.dots.mps.gz", "sp ace.mps", "ü.mps"])
def test_names_may_be_gzipped_upper_case_or_odd(tmp_path, foreign, name):
    plain = (foreign / "lseu.mps").read_bytes()
    path = written(tmp_path / name, gzip.compress(plain) if name.lower().endswith("gz") else plain)
    assert screen(path).digest == content_digest(plain)
    assert read_model(path).getNVars() == 89


def test_compression_goes_by_content_as_in_scip(tmp_path, foreign):
    plain = (foreign / "lseu.mps").read_bytes()
    assert screen(written(tmp_path / "a.mps", gzip.compress(plain))).n_vars == 89
    assert screen(written(tmp_path / "a.mps.gz", plain)).n_vars == 89


def test_cip_files_are_read(tmp_path, foreign):
    model = Model()
    model.hideOutput()
    model.readProblem(str(foreign / "lseu.mps"))
    model.writeProblem(str(tmp_path / "lseu.cip"), verbose=False)
    assert screen(tmp_path / "lseu.cip").n_integer == 89
    text = (tmp_path / "lseu.cip").read_bytes()
    assert "cut off" in refusal(written(tmp_path / "cut.cip", text[:3000]))


def test_a_file_that_was_whole_and_is_cut_later_is_refused(tmp_path, foreign):
    whole = (foreign / "lseu.mps").read_bytes()
    path = written(tmp_path / "lseu.mps", whole)
    for _ in range(2):
        assert read_model(path).getNVars() == 89
    written(path, whole[: len(whole) // 2])
    with pytest.raises(InstanceError, match="is cut off"):
        read_model(path)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_mps_file_is_refused_wherever_it_was_cut(tmp_path, foreign, share):
    content = (foreign / "lseu.mps").read_bytes()
    path = written(tmp_path / "lseu.mps", content[: int(len(content) * share)])
    assert refusal(path).startswith("lseu.mps is cut off")


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_lp_file_is_refused_where_it_makes_no_sense(tmp_path, foreign, share):
    content = (foreign / "stein27_inf.lp").read_bytes()
    path = written(tmp_path / "cut.lp", content[: int(len(content) * share)])
    said = refusal(path)
    assert "cannot be read as LP" in said or said.endswith("it may be cut off, for it has no line 'End'.")


def test_an_lp_file_may_lack_its_end_and_that_is_noted(tmp_path):
    whole = LINEAR + "Binary\n x\n"
    assert screen(written(tmp_path / "whole.lp", whole + "End\n")).doubt is None
    facts = screen(written(tmp_path / "a.lp", whole))
    assert facts.n_integer == 1
    assert facts.doubt == "a.lp has no line 'End': whether it was cut off cannot be seen."
    assert screen(written(tmp_path / "b.lp", whole + "\\ the end\n")).doubt is not None, "a comment"


@pytest.mark.parametrize("keep", [15, 300, -4])
def test_a_truncated_gzip_file_is_refused(tmp_path, foreign, keep):
    content = gzip.compress((foreign / "lseu.mps").read_bytes())
    assert "cut off or damaged" in refusal(written(tmp_path / "cut.mps.gz", content[:keep]))


def test_damaged_gzip_data_are_refused(tmp_path, foreign):
    content = bytearray(gzip.compress((foreign / "lseu.mps").read_bytes()))
    content[40:60] = bytes(20)
    assert "damaged" in refusal(written(tmp_path / "bad.mps.gz", bytes(content)))


@pytest.mark.parametrize("suffix", ["mps", "lp", "cip"])
def test_empty_files_and_noise_are_refused(tmp_path, suffix):
    assert "is empty" in refusal(written(tmp_path / f"a.{suffix}", b"\n \n"))
    noise = refusal(written(tmp_path / f"b.{suffix}", bytes(range(256)) * 20))
    assert "has no line" in noise or "cannot be read" in noise


@pytest.mark.parametrize("row", [" L", " cost", "  E  "])
def test_a_row_without_a_name_is_refused_before_scip_trips_over_it(tmp_path, foreign, row):
    lines = (foreign / "lseu.mps").read_text().splitlines()
    where = lines.index("ROWS") + 2
    path = written(tmp_path / "rows.mps", "\n".join([*lines[:where], row, *lines[where:]]))
    assert f"line {where + 1}, in ROWS" in refusal(path)


def test_scip_says_what_is_wrong_in_which_line(tmp_path, capfd):
    path = written(tmp_path / "bad.lp", LINEAR.replace(">=", "") + "Binary\n x\nEnd\n")
    message = refusal(path)
    assert message.startswith("bad.lp cannot be read as LP: ")
    assert "line 5" in message
    assert capfd.readouterr().err == ""


def test_a_model_without_integer_variables_is_refused(tmp_path):
    assert "no integer variables" in refusal(written(tmp_path / "linear.lp", LINEAR + "End\n"))


def test_a_model_without_variables_is_refused(tmp_path):
    assert "no variables" in refusal(written(tmp_path / "none.lp", "Minimize\nSubject To\nEnd\n"))


@pytest.mark.parametrize("end", ["END\n", "end", "  End \n", "End \\ of it\n", " y End"])
def test_the_end_of_an_lp_file_may_be_written_in_many_ways(tmp_path, end):
    path = written(tmp_path / "a.lp", LINEAR + "Binary\n x\n" + end)
    assert screen(path).n_integer == (2 if "y" in end else 1)


def test_missing_files_directories_and_other_names_are_refused(tmp_path):
    assert refusal(tmp_path / "gone.mps").startswith("There is no file")
    (tmp_path / "folder.mps").mkdir()
    assert "is no instance file" in refusal(tmp_path / "folder.mps")
    assert ".mps, .lp or .cip" in refusal(written(tmp_path / "notes.txt", "hello"))
    file = written(tmp_path / "file.mps", "hello")
    assert "cannot be opened" in refusal(file / "below.mps")
    os.mkfifo(tmp_path / "pipe.mps")
    assert "is no instance file" in refusal(tmp_path / "pipe.mps")


def test_what_others_write_to_standard_error_meanwhile_is_passed_on(tmp_path, foreign, capfd, monkeypatch):
    read = Model.readProblem

    class Talkative(Model):
        def readProblem(self, *arguments):  # noqa: N802
            os.write(2, b"another thread speaks\n")
            read(self, *arguments)

    monkeypatch.setattr("bife_core.scip.reading.Model", Talkative)
    screen(foreign / "lseu.mps")
    assert capfd.readouterr().err == "another thread speaks\n"


def test_the_file_is_left_as_it_was(tmp_path, foreign):
    path = tmp_path / "lseu.mps"
    shutil.copy(foreign / "lseu.mps", path)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    screen(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(tmp_path.iterdir()) == [path]


def test_formats_go_by_the_name(tmp_path):
    assert model_format(tmp_path / "a.cip.gz") == "cip"
    assert model_format(tmp_path / "mps") is None
    assert model_format(tmp_path / "a.mps.bz2") is None
