"""Workers run functions of packages that offer plugins, and of no others."""

import pytest

from bife_core.workers import InProcess, WorkerFailure
from tests.support.plugins import write_metadata

MODULE = "from os import getcwd\n\n\ndef double(value):\n    return 2 * value\n"


@pytest.fixture
def workers(tmp_path, monkeypatch):
    for package in ("doubling", "stranger"):
        folder = tmp_path / package
        folder.mkdir()
        (folder / "__init__.py").touch()
        (folder / "work.py").write_text(MODULE)
    write_metadata(tmp_path, "doubling", "1.0", {"bife.methods": {"doubled": "doubling.work:double"}})
    write_metadata(tmp_path, "stranger", "1.0", {"console_scripts": {"double": "stranger.work:double"}})
    monkeypatch.syspath_prepend(tmp_path)
    return InProcess()


def test_a_function_of_a_plugin_package_runs(workers):
    assert workers.submit("doubling.work:double", {"value": 3}, limit_s=1).result() == 6


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (
            "stranger.work:double",
            "A worker runs only 'package.module:function' of bife_core or of a package with",
        ),
        ("doubling.work:getcwd", "doubling.work defines no function 'getcwd'"),
    ],
)
def test_functions_of_others_do_not(workers, call, reason):
    with pytest.raises(WorkerFailure, match=reason):
        workers.submit(call, {}, limit_s=1).result()
