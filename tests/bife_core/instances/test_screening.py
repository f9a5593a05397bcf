import gzip
import os
import shutil

import pytest
from pyscipopt import Model

from bife_core.instances.base import content_digest
from bife_core.instances.folder import screen
from bife_core.solver.scip.reader import read_model

LINEAR = "Minimize\n obj: x + y\nSubject To\n c: x + y >= 1.5\nBounds\n x <= 10\n y <= 10\n"


def written(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refusal(path):
    message = screen(str(path))["failure"]
    assert "\n" not in message
    assert message.endswith(".")
    assert message[:-1].count(". ") == 0
    return message


@pytest.mark.parametrize("name", ["lseu.mps", "stein27_inf.lp"])
def test_published_files_are_read_and_left_as_they_were(tmp_path, foreign, name):
    path = tmp_path / name
    shutil.copy(foreign / name, path)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    assert screen(str(path)) == {"digest": content_digest((foreign / name).read_bytes())}
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "compressed"),
    [
        ("a.mps.gz", True), ("A.MPS", False), ("A.MPS.GZ", True), ("sp ace.mps", False), ("ü.mps", False),
        ("a.mps", True), ("b.mps.gz", False),
    ],
)  # fmt: skip
def test_names_may_be_odd_and_compression_goes_by_content(tmp_path, foreign, name, compressed):
    plain = (foreign / "lseu.mps").read_bytes()
    path = written(tmp_path / name, gzip.compress(plain) if compressed else plain)
    assert screen(str(path)) == {"digest": content_digest(plain)}
    assert read_model(path).getNVars() == 89


@pytest.mark.parametrize("share", [0.02, 0.5, 0.999])
def test_a_truncated_file_is_refused(tmp_path, foreign, share):
    content = (foreign / "lseu.mps").read_bytes()
    path = written(tmp_path / "lseu.mps", content)
    assert read_model(path).getNVars() == 89
    written(path, content[: int(len(content) * share)])
    assert refusal(path).startswith("lseu.mps is cut off")
    packed = gzip.compress(content)
    cut = written(tmp_path / "cut.mps.gz", packed[: int(len(packed) * share)])
    assert "cut off or damaged" in refusal(cut)
    content = (foreign / "stein27_inf.lp").read_bytes()
    refusal(written(tmp_path / "cut.lp", content[: int(len(content) * share)]))


@pytest.mark.parametrize("suffix", ["mps", "lp", "cip"])
def test_empty_files_and_noise_are_refused(tmp_path, suffix):
    assert "is empty" in refusal(written(tmp_path / f"a.{suffix}", b"\n \n"))
    refusal(written(tmp_path / f"b.{suffix}", bytes(range(256)) * 20))


@pytest.mark.parametrize("row", [" L", " cost", "  E  "])
def test_a_row_without_a_name_is_refused_before_scip_crashes_on_it(tmp_path, foreign, row):
    lines = (foreign / "lseu.mps").read_text().splitlines()
    where = lines.index("ROWS") + 2
    path = written(tmp_path / "rows.mps", "\n".join([*lines[:where], row, *lines[where:]]))
    assert f"line {where + 1}: in ROWS" in refusal(path)


def test_an_instance_without_integer_variables_is_refused(tmp_path, foreign):
    assert "no integer variables" in refusal(written(tmp_path / "linear.lp", LINEAR + "End\n"))


SOS = "Maximize\n o: 3 x + 2 y\nSubject To\n c: x + y <= 8\nBounds\n x <= 4\n y <= 5\nSOS\n s: S1:: x:1 y:2\nEnd\n"
CHOICE = "  [disjunction] <e>: disjunction([linear] <f>: <x>[C] >= 3, [linear] <g>: <x>[C] <= 1);\n"
CIP = (
    "STATISTICS\n  Problem name     : a\nOBJECTIVE\n  Sense            : maximize\nVARIABLES\n"
    f"  [continuous] <x>: obj=1, original bounds=[0,9]\nCONSTRAINTS\n{CHOICE}END\n"
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.lp", SOS),
        ("a.lp", SOS.replace("SOS\n s: S1:: x:1 y:2", "Semis\n x").replace(" x <", " 2 <= x <")),
        ("a.cip", CIP),
    ],
)
def test_constraints_that_scip_branches_on_make_up_for_integer_variables(tmp_path, foreign, name, text):
    assert "digest" in screen(str(written(tmp_path / name, text)))
    assert "digest" in screen(str(foreign / "semicon1.mps"))


def test_missing_files_directories_and_other_names_are_refused(tmp_path):
    assert refusal(tmp_path / "gone.mps").startswith("There is no file")
    (tmp_path / "folder.mps").mkdir()
    assert "is no instance file" in refusal(tmp_path / "folder.mps")
    assert ".mps, .lp, .rlp, .cip" in refusal(written(tmp_path / "notes.txt", "hello"))
    os.mkfifo(tmp_path / "pipe.mps")
    assert "is no instance file" in refusal(tmp_path / "pipe.mps")


def test_what_others_write_to_standard_error_meanwhile_is_passed_on(foreign, capfd, monkeypatch):
    read = Model.readProblem

    class Talkative(Model):
        def readProblem(self, *arguments):  # noqa: N802
            os.write(2, b"another thread speaks\n")
            read(self, *arguments)

    monkeypatch.setattr("bife_core.solver.scip.reader.Model", Talkative)
    screen(str(foreign / "lseu.mps"))
    assert capfd.readouterr().err == "another thread speaks\n"
