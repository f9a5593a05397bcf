"""Files are whole or absent."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bife_core.base.errors import ConfigError
from bife_core.base.files import check_outputs, write_whole
from tests.support.programs import REPOSITORY

ON_A_FULL_DISK = """
import resource, sys
from pathlib import Path
from bife_core.base.files import write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    write_whole(Path(sys.argv[1]), b"n" * 5000)
except OSError as error:
    print(error.filename)
"""


def test_directories_are_made_and_former_content_is_replaced(tmp_path):
    path = tmp_path / "a" / "b.txt"
    write_whole(path, "früher")
    write_whole(path, b"later")
    assert path.read_bytes() == b"later"
    assert list(path.parent.iterdir()) == [path]


def test_a_disk_that_fills_up_leaves_the_former_file_and_is_named(tmp_path):
    path = tmp_path / "kept.txt"
    write_whole(path, "before")
    words = [sys.executable, "-c", ON_A_FULL_DISK, str(path)]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_writers_of_one_file_do_not_mix(tmp_path):
    path = tmp_path / "shared"
    contents = [bytes([number]) * 200_000 for number in range(8)]
    threads = [threading.Thread(target=write_whole, args=(path, content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


PRINTED = """
from pathlib import Path
from bife_core.base.files import write_whole
print("before", flush=True)
write_whole(Path("/dev/stdout"), "whole\\n")
print("after")
"""


def test_what_is_no_file_stays_and_is_written_to(tmp_path):
    for name, target in (("link", "there"), ("dangling", "made")):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "there").write_text("of before")
    (tmp_path / "there").chmod(0o600)
    os.mkfifo(tmp_path / "pipe")
    pipe = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    check_outputs([tmp_path / name for name in ("link", "dangling", "pipe")])
    for name in ("link", "dangling", "pipe"):
        write_whole(tmp_path / name, name)
    assert os.read(pipe, 99) == b"pipe"
    os.close(pipe)
    assert (tmp_path / "pipe").is_fifo()
    assert [(tmp_path / name).readlink().name for name in ("link", "dangling")] == ["there", "made"]
    assert [(tmp_path / name).read_text() for name in ("there", "made")] == ["link", "dangling"]
    assert (tmp_path / "there").stat().st_mode & 0o777 == 0o600


def test_standard_output_that_goes_to_a_file_goes_on_there(tmp_path):
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", PRINTED], cwd=REPOSITORY, stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "before\nwhole\nafter\n"


def test_files_are_written_where_standard_output_is_closed(tmp_path):
    code = "import os, sys; from pathlib import Path; from bife_core.base.files import write_whole; os.close(1); "
    code += "[write_whole(Path(sys.argv[1]), text) for text in ('first', 'second')]"
    subprocess.run([sys.executable, "-c", code, tmp_path / "out"], cwd=REPOSITORY, check=True)
    assert (tmp_path / "out").read_text() == "second"


@pytest.mark.parametrize("text", ["{}", "solver={}", "{},budget=0.5", "{}/../a.lp"])
def test_what_is_read_is_not_written_over_by_any_name(tmp_path, monkeypatch, text):
    (file := tmp_path / "a.lp").write_text("a model")
    (tmp_path / "hard").hardlink_to(file)
    (tmp_path / "soft").symlink_to(tmp_path / "hard")
    monkeypatch.chdir(tmp_path)
    read = [None, "relpscost", text.format(tmp_path / "b" if ".." in text else file)]
    (tmp_path / "b").mkdir()
    for path in (file, Path("a.lp"), tmp_path / "hard", tmp_path / "soft"):
        with pytest.raises(ConfigError, match=f"{path.name} is read and would be written over"):
            check_outputs([tmp_path / "other", path], read)
    check_outputs([tmp_path / "other"], read)


def test_what_cannot_be_written_is_named_before(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path, tmp_path / "file" / "a.sol", tmp_path / ("a" * 256), tmp_path / "loop"):
        with pytest.raises(OSError, match=r"\[Errno") as refused:
            check_outputs([path])
        assert refused.value.filename == str(path)
    write_whole(longest := tmp_path / ("a" * 255), "whole")
    assert longest.read_text() == "whole"
