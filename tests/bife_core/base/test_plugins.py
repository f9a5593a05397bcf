"""Names that stand for plugins: what BiFE brings, what packages offer, and what is said where one is broken."""

import inspect
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from threading import Event

import pytest

from bife_core.base.errors import ConfigError
from bife_core.base.plugins import Plugins
from tests.support.plugins import write_metadata


def plugins():
    builtin = {"ordered": "collections:OrderedDict", "counter": "collections:Counter"}
    return Plugins("mapping", "bife.test_plugins", builtin, inspect.isclass, "a class", also=("none",))


def offer(path, name, **entries):
    write_metadata(path, name, "1.2", {"bife.test_plugins": entries})


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_own_plugins_come_first_and_are_loaded_by_name(path):
    offer(path, "theirs", chained="collections:ChainMap")
    mappings = plugins()
    assert list(mappings) == ["ordered", "counter", "chained"]
    assert mappings.names == ["ordered", "counter", "chained", "none"]
    assert mappings.foreign == ["chained"]
    assert mappings.find("counter").__name__ == "Counter"
    assert mappings.find("chained").__name__ == "ChainMap"
    assert "chained" in mappings
    assert "none" not in mappings


def test_threads_that_ask_first_at_once_all_know_every_plugin(path, monkeypatch):
    offer(path, "theirs", chained="collections:ChainMap")
    entries, mappings = list(entry_points(group="bife.test_plugins")), plugins()
    reading, read = Event(), Event()

    def slow(group):
        reading.set()
        read.wait(5)
        yield from entries

    monkeypatch.setattr("importlib.metadata.entry_points", slow)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lambda: mappings.names)
        reading.wait(5)
        second = threads.submit(lambda: mappings.names)
        with pytest.raises(TimeoutError):
            second.result(0.1)
        read.set()
        assert first.result() == second.result() == ["ordered", "counter", "chained", "none"]


def test_a_package_is_not_imported_before_its_plugin_is_asked_for(path):
    offer(path, "theirs", late="late_plugin:Late")
    (path / "late_plugin.py").write_text("raise RuntimeError('not yet')")
    mappings = plugins()
    assert mappings.names == ["ordered", "counter", "late", "none"]
    assert mappings.required("late") == "late"
    with pytest.raises(ConfigError, match=r"mapping 'late' of theirs 1\.2 cannot be loaded"):
        mappings.find("late")


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("no_such_module:x", "cannot be loaded (ModuleNotFoundError: No module named 'no_such_module')"),
        ("collections:nothing", "cannot be loaded (AttributeError: "),
        ("math:pi", "must be a class, but math:pi is float"),
    ],
)
def test_a_broken_plugin_is_one_sentence_with_its_package(path, where, sentence):
    offer(path, "broken", bad=where)
    with pytest.raises(ConfigError) as error:
        plugins().find("bad")
    assert str(error.value).startswith("The mapping 'bad' of broken 1.2 ")
    assert sentence in str(error.value)


def test_a_package_that_was_never_installed_goes_by_its_module(path):
    offer(path, "folder", late="late_plugin.some:Late")
    (path / "folder-1.2.dist-info" / "METADATA").unlink()
    pytest.importorskip(
        "importlib_metadata"
    )  # once imported, it finds packages too, and raises where ours does not
    assert plugins().listed()[-1] == ("late", "late_plugin (not installed)")


def test_a_builtin_is_found_without_a_look_at_what_is_installed(path, monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", None)
    assert plugins().find("counter").__name__ == "Counter"


@pytest.mark.parametrize(("name", "packages"), [("same", ("first", "second")), ("counter", ("first",))])
def test_two_packages_with_one_name_are_both_named(path, name, packages):
    for package in packages:
        offer(path, package, **{name: "collections:ChainMap"})
    with pytest.raises(ConfigError, match=rf"both offer a mapping '{name}'; uninstall one") as error:
        plugins().listed()
    assert all(f"{package} 1.2" in str(error.value) for package in packages)
    assert ("BiFE and " in str(error.value)) == (name == "counter")
