"""Files are whole or absent."""

import subprocess
import sys
import threading
from pathlib import Path

from bife_core.files import write_whole

REPOSITORY = Path(__file__).parents[2]

ON_A_FULL_DISK = """
import resource, sys
from pathlib import Path
from bife_core.files import write_whole
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
    done = subprocess.run(
        [sys.executable, "-c", ON_A_FULL_DISK, str(path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
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
