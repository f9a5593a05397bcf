"""A backup that is made while runs are under way, and a home that is made from it."""

import os
import shutil
import sqlite3
import tarfile
import threading
from contextlib import closing

import pytest

from bife_core.base.errors import ConfigError
from bife_core.store import Store
from bife_core.store.backup import back_up, restore
from bife_core.store.home import Home


@pytest.fixture
def home(tmp_path):
    """A home with a store, another database, files, and what `bife up` makes anew."""
    home = Home(tmp_path / "home")
    Store(home.root).append("a", "started", {"by": "me"})
    for name in ("runs/a/best_rule.py", "logs/up.log", "prefect/pages/index.html", "up.json"):
        path = home.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    script = "PRAGMA journal_mode=WAL; CREATE TABLE runs (name); INSERT INTO runs VALUES ('one')"
    with closing(sqlite3.connect(home.root / "prefect" / "prefect.db")) as database:
        database.executescript(script)
    return home


def test_a_home_that_is_written_to_is_as_it_was_after_its_loss(home, tmp_path):
    store, stop = Store(home.root), threading.Event()

    def write():
        while not stop.is_set():
            store.append("a", "scored", {"text": "x" * 1000})

    writer = threading.Thread(target=write)
    writer.start()
    file = tmp_path / "bife.tar.gz"
    # A transaction that is open meanwhile is no part of it, and does not stop it.
    with closing(sqlite3.connect(home.root / "prefect" / "prefect.db")) as other:
        other.execute("INSERT INTO runs VALUES ('two')")
        back_up(home, file)
    stop.set()
    writer.join()
    store.close()
    before = [event.seq for event in store.events("a")]
    store.close()
    shutil.move(home.root, tmp_path / "lost")

    restore(home, file)
    assert {path.stat().st_mode & 0o077 for path in (home.root, *home.root.rglob("*.db"))} == {0}
    events = [event.seq for event in Store(home.root).events("a")]
    assert events == before[: len(events)]
    assert len(events) >= 1
    with closing(sqlite3.connect(home.root / "prefect" / "prefect.db")) as database:
        assert database.execute("SELECT name FROM runs").fetchall() == [("one",)]
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    files = {path.relative_to(home.root).as_posix() for path in home.root.rglob("*") if path.is_file()}
    expected = {"bife.db", "prefect/prefect.db", "runs/a/best_rule.py"}
    assert {name for name in files if "db-" not in name} == expected


def test_what_links_lead_to_is_in_it_and_what_cannot_be_copied_is_named(home, tmp_path):
    far, runs = tmp_path / "far", home.root / "runs"
    (far / "sub").mkdir(parents=True)
    (far / "sub" / "big.npz").write_text("big")
    (far / "b.txt").write_text("b")
    with closing(sqlite3.connect(far / "mlflow.db")) as database:
        database.execute("CREATE TABLE runs (name)")
    (home.root / "decisions").symlink_to(far)
    (runs / "absolute.txt").symlink_to(far / "b.txt")
    (runs / "twice.txt").hardlink_to(far / "b.txt")
    (runs / "newest.py").symlink_to("a/best_rule.py")
    (home.root / "logs-of-mine").write_text("no log")
    (runs / "not.db").write_text("no database")
    os.close(os.open(os.fsencode(runs) + b"/\xff$ | \n.txt", os.O_CREAT))
    files = (*runs.rglob("*.txt"), *runs.rglob("*.py"))
    before = {path.relative_to(home.root): path.read_text() for path in files}
    (runs / "gone").symlink_to("nowhere")
    (runs / "itself").symlink_to("itself")
    os.mkfifo(runs / "pipe")
    left_out = back_up(home, tmp_path / "bife.tar.gz")
    assert [note.partition(" is ")[0] for note in left_out] == [
        str(runs / name) for name in ("gone", "itself", "pipe")
    ]
    assert "a link to nowhere" in left_out[0]
    shutil.rmtree(home.root)
    shutil.rmtree(far)
    restore(home, tmp_path / "bife.tar.gz")
    assert {name: (home.root / name).read_text() for name in before} == before
    assert (home.root / "decisions" / "sub" / "big.npz").read_text() == "big"
    assert (home.root / "decisions" / "mlflow.db").exists()
    assert (home.root / "logs-of-mine").exists()
    assert (runs / "not.db").exists()


@pytest.mark.parametrize("target", ["/", "..", ".", "{home}/runs/a"])
def test_links_that_go_in_a_circle_are_refused(home, tmp_path, target):
    (home.root / "runs" / "a" / "back").symlink_to(target.format(home=home.root))
    with pytest.raises(ConfigError, match=r"runs/a/back is a link to .*, which it lies in itself"):
        back_up(home, tmp_path / "bife.tar.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_what_changes_meanwhile_and_what_cannot_be_restored_is_no_backup(home, tmp_path, monkeypatch):
    shrinking = home.root / "runs" / "a" / "shrinking"
    shrinking.write_text("x" * 100_000)
    add = tarfile.TarFile.addfile

    def shortened(archive, entry, content=None):
        if entry.name.endswith(shrinking.name):
            os.truncate(shrinking, 10)
        add(archive, entry, content)

    with monkeypatch.context() as patched:
        patched.setattr(tarfile.TarFile, "gettarinfo", lambda self, **options: tarfile.TarInfo("/elsewhere"))
        with pytest.raises(ConfigError, match=r"bife.tar.gz cannot be written"):
            back_up(home, tmp_path / "bife.tar.gz")
    monkeypatch.setattr(tarfile.TarFile, "addfile", shortened)
    with pytest.raises(ConfigError, match="shrinking became shorter while it was copied"):
        back_up(home, tmp_path / "bife.tar.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_it_is_for_its_owner_alone_and_half_of_one_is_not_left(home, tmp_path, monkeypatch):
    back_up(home, tmp_path / "bife.tar.gz")
    assert (tmp_path / "bife.tar.gz").stat().st_mode & 0o077 == 0
    os.truncate(tmp_path / "bife.tar.gz", 600)
    home.root.rename(tmp_path / "kept")
    for file in (tmp_path / "bife.tar.gz", tmp_path / "kept" / "runs" / "a" / "best_rule.py"):
        with pytest.raises(ConfigError, match="cannot be read as a backup"):
            restore(home, file)
    assert not home.root.exists()
    (tmp_path / "kept").rename(home.root)
    message = r"nowhere/bife.tar.gz cannot be written \(No such file or directory\)"
    with pytest.raises(ConfigError, match=message):
        back_up(home, tmp_path / "nowhere" / "bife.tar.gz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bife.tar.gz", "home"]


def test_what_would_overwrite_or_not_fit_is_refused_in_a_sentence(home, tmp_path):
    file = tmp_path / "bife.tar.gz"
    back_up(home, file)
    with pytest.raises(ConfigError, match="exists already; name another file"):
        back_up(home, file)
    with pytest.raises(ConfigError, match="holds files; set BIFE_HOME"):
        restore(home, file)
    with pytest.raises(ConfigError, match=f"is of the home {home.root}, by which MLflow knows"):
        restore(Home(tmp_path / "elsewhere"), file)
    with pytest.raises(ConfigError, match=r"holds no bife\.db"):
        back_up(Home(tmp_path / "elsewhere"), tmp_path / "other.tar.gz")
