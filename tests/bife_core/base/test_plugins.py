"""Names that stand for plugins: what BiFE brings, what packages offer, and what is said where one is broken."""

from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from threading import Event

import pytest

from bife_core.base.errors import ConfigError
from bife_core.base.plugins import Plugins
from tests.support.plugins import write_metadata


def plugins():
    own = {"ordered": "collections:OrderedDict", "counter": "collections:Counter"}
    return Plugins(
        "mapping", "bife.test_plugins", own, lambda found: isinstance(found, type), "a class", ("none",)
    )


def offer(path, name, **entries):
    write_metadata(path, name, "1.2", {"bife.test_plugins": entries})


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_own_plugins_come_first_and_are_loaded_by_name(path):
    offer(path, "theirs", chained="collections:ChainMap")
    known = plugins()
    assert list(known) == ["ordered", "counter", "chained"]
    assert known.names == ["ordered", "counter", "chained", "none"]
    assert known.foreign == ["chained"]
    assert known.find("counter").__name__ == "Counter"
    assert known.find("chained").__name__ == "ChainMap"
    assert "chained" in known
    assert "none" not in known


def test_threads_that_ask_first_at_once_all_know_every_plugin(path, monkeypatch):
    offer(path, "theirs", chained="collections:ChainMap")
    found, known = list(entry_points(group="bife.test_plugins")), plugins()
    reading, read = Event(), Event()

    def slow(group):
        reading.set()
        read.wait(5)
        yield from found

    monkeypatch.setattr("bife_core.base.plugins.entry_points", slow)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lambda: known.names)
        reading.wait(5)
        second = threads.submit(lambda: known.names)
        with pytest.raises(TimeoutError):
            second.result(0.1)
        read.set()
        assert first.result() == second.result() == ["ordered", "counter", "chained", "none"]


def test_a_package_is_not_imported_before_its_plugin_is_asked_for(path):
    offer(path, "theirs", late="late_plugin:Late")
    (path / "late_plugin.py").write_text("raise RuntimeError('not yet')")
    known = plugins()
    assert known.names == ["ordered", "counter", "late", "none"]
    assert known.known("late") == "late"
    with pytest.raises(ConfigError, match=r"mapping 'late' of theirs 1\.2 cannot be loaded"):
        known.find("late")


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("no_such_module:x", "cannot be loaded (ModuleNotFoundError: No module named 'no_such_module')"),
        ("collections:nothing", "cannot be loaded (AttributeError: "),
        ("math:pi", "must be a class, but math:pi is float"),
    ],
)
def test_a_broken_plugin_is_one_sentence_with_its_package(path, where, said):
    offer(path, "broken", bad=where)
    with pytest.raises(ConfigError) as error:
        plugins().find("bad")
    assert str(error.value).startswith("The mapping 'bad' of broken 1.2 ")
    assert said in str(error.value)


def test_a_package_that_was_never_installed_goes_by_its_module(path):
    offer(path, "folder", late="late_plugin.some:Late")
    (path / "folder-1.2.dist-info" / "METADATA").unlink()
    pytest.importorskip(
        "importlib_metadata"
    )  # once imported, it finds packages too, and raises where ours does not
    assert plugins().listed()[-1] == ("late", "late_plugin (not installed)")


def test_two_packages_with_one_name_are_both_named(path):
    offer(path, "first", same="collections:ChainMap")
    offer(path, "second", same="collections:UserDict")
    with pytest.raises(ConfigError, match=r"both offer a mapping 'same'; uninstall one") as error:
        plugins().find("same")
    assert {"first 1.2", "second 1.2"} <= {f"{word} 1.2" for word in str(error.value).split()}


def test_nobody_takes_the_place_of_what_bife_brings(path):
    offer(path, "intruder", counter="collections:ChainMap")
    with pytest.raises(ConfigError, match=r"BiFE and intruder 1\.2 both offer a mapping 'counter'"):
        plugins().find("counter")
