"""The third wall alone: code that nothing has checked runs in a worker, and what it tries fails.

What a system lacks (`in_force` says so) cannot hold there; each test asks for the measure it is about.
"""

import os
import socket
import sys
import time
from pathlib import Path

import psutil
import pytest

import bife_core
from bife_core.workers import WorkerFailure, WorkerPool
from bife_core.workers.confinement import MEASURES, usable_memory_mb
from bife_core.workers.process import worker_environment
from tests.support.misbehaving import RUN

DESCRIBE = "bife_core.workers.selftest:describe"
ECHO = "bife_core.workers.selftest:echo"


def run(pool, source, limit_s=20.0, **options):
    return pool.submit(RUN, {"source": source}, limit_s=limit_s, **options).result()


def failure(pool, source, limit_s=20.0, **options):
    with pytest.raises(WorkerFailure) as caught:
        run(pool, source, limit_s, **options)
    return caught.value


def holds(pool, measure):
    return not pool.submit(DESCRIBE, {}, limit_s=20).result()["in_force"][measure].startswith("no:")


def test_every_measure_is_reported(pool):
    measures = pool.submit(DESCRIBE, {}, limit_s=20).result()["in_force"]
    assert set(measures) == set(MEASURES)
    assert all(measures.values())
    if sys.platform == "linux":
        assert not measures["limits"].startswith("no:")


def test_packages_that_extend_bife_can_be_imported_however_they_are_installed(pool):
    """The rivals are installed editable: their folder is on no path of Python's."""
    assert run(pool, "import bife_rivals.eoh\nresult = bife_rivals.eoh.__name__") == "bife_rivals.eoh"


NETWORK = {
    "tcp": "import socket; socket.create_connection(('127.0.0.1', PORT), timeout=5)",
    "udp": "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT))",
    "raw": "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "unix": "import socket; socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')",
    "libc": "import ctypes\nif ctypes.CDLL(None).socket(2, 1, 0) < 0: raise OSError",
}


@pytest.mark.parametrize("measures", [("network",), ("calls",), MEASURES])
def test_no_network_by_either_measure_alone(measures):
    with WorkerPool(1, measures=measures) as pool, socket.create_server(("127.0.0.1", 0)) as server:
        for way in ("tcp", "udp") if all(holds(pool, measure) for measure in measures) else ():
            error = failure(pool, NETWORK[way].replace("PORT", str(server.getsockname()[1])))
            assert error.kind == "error", way
            assert error.error_type in ("OSError", "PermissionError", "ConnectionRefusedError"), way


@pytest.mark.parametrize("way", ["raw", "unix", "libc"])
def test_no_socket_of_any_kind(pool, way):
    assert not holds(pool, "calls") or failure(pool, NETWORK[way]).kind == "error"


PROCESSES = {
    "fork": "import os; os.fork()",
    "spawn": "import subprocess; subprocess.run(['/bin/true'])",
    "system": "import os\nif os.system('true') != 0: raise OSError",
    "exec": "import os; os.execv('/bin/true', ['true'])",
    "session": "import os; os.setsid()",
    "libc clone": "import ctypes\nif ctypes.CDLL(None, use_errno=True).syscall(56, 17, 0, 0, 0, 0) < 0: raise OSError",
    "libc clone3": "import ctypes\nb = ctypes.create_string_buffer(88)\n"
    "if ctypes.CDLL(None).syscall(435, b, 88) < 0: raise OSError",
    "namespace": "import ctypes\nif ctypes.CDLL(None).unshare(0x10000000) < 0: raise OSError",
}


@pytest.mark.parametrize("way", PROCESSES)
def test_no_other_process_or_program(pool, way):
    assert not holds(pool, "calls") or failure(pool, PROCESSES[way]).kind == "error"


def test_threads_are_allowed_but_make_a_worker_unfit_for_another_call(pool):
    before = pool.submit(DESCRIBE, {}, limit_s=20).result()["pid"]
    run(pool, "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()")
    assert pool.submit(DESCRIBE, {}, limit_s=20).result()["pid"] != before


OTHERS = {
    "kill": "import os; os.kill(PARENT, 0)",
    "stop": "import os, signal; os.kill(PARENT, signal.SIGSTOP)",
    "all": "import os, signal; os.kill(-1, 0)",
    "owner of a signal": "import fcntl, os, signal\nr, w = os.pipe()\nfcntl.fcntl(r, fcntl.F_SETOWN, PARENT)",
    "limits": "import resource; resource.prlimit(PARENT, resource.RLIMIT_NOFILE, (8, 8))",
    "cores": "import os; os.sched_setaffinity(PARENT, {0})",
    "priority": "import os; os.setpriority(os.PRIO_PROCESS, PARENT, 19)",
    "environment": "result = open('/proc/PARENT/environ').read()",
    "memory": "open('/proc/PARENT/mem', 'rb').read(1)",
    "descriptors": "import os; os.readlink('/proc/PARENT/fd/0')",
    "attach": "import ctypes\nif ctypes.CDLL(None).ptrace(16, PARENT, 0, 0) != 0: raise OSError",
    "own death signal": "import ctypes\nif ctypes.CDLL(None).prctl(1, 0, 0, 0, 0) != 0: raise OSError",
}


@pytest.mark.parametrize("way", OTHERS)
def test_no_hand_on_the_parent(pool, way):
    if holds(pool, "calls") and holds(pool, "files"):
        error = failure(pool, OTHERS[way].replace("PARENT", str(os.getpid())))
        assert error.kind == "error", error


@pytest.mark.parametrize("measures", [("network",), ("files",)])
def test_the_parents_environment_stays_closed_by_either_measure_alone(measures):
    with WorkerPool(1, measures=measures) as pool:
        if holds(pool, measures[0]):
            error = failure(pool, f"result = open('/proc/{os.getpid()}/environ').read()")
            assert error.error_type == "PermissionError"


def test_what_lies_beside_the_package_in_a_checkout_is_not_read(pool):
    beside = Path(bife_core.__file__).parents[1] / "README.md"
    if beside.is_file():
        assert failure(pool, f"result = open({str(beside)!r}).read()").error_type == "PermissionError"


def test_files_are_read_only_where_a_call_names_them(pool, tmp_path):
    if not holds(pool, "files"):
        return
    (tmp_path / "named").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "named" / "a.txt").write_text("for the call")
    (tmp_path / "other" / "secret.txt").write_text("not for the call")
    named, other = tmp_path / "named" / "a.txt", tmp_path / "other" / "secret.txt"
    assert failure(pool, f"result = open({str(named)!r}).read()").error_type == "PermissionError"
    assert run(pool, f"result = open({str(named)!r}).read()", reads=[named]) == "for the call"
    by_way_of = (
        f"import os; name = os.environ['TMPDIR'] + '/copy'; os.WAY({str(other)!r}, name); open(name).read()"
    )
    for source in (
        f"result = open({str(other)!r}).read()",
        by_way_of.replace("WAY", "symlink"),
        by_way_of.replace("WAY", "link").replace("'/copy'", "'/link'"),
    ):
        assert failure(pool, source, reads=[named]).error_type in ("PermissionError", "OSError"), source


CHANGES = {
    "write": "open(FILE, 'w').write('x')",
    "append": "open(FILE, 'a').write('x')",
    "new": "open(FILE + '2', 'w')",
    "remove": "import os; os.remove(FILE)",
    "rename": "import os; os.rename(FILE, FILE + '3')",
    "truncate": "import os; os.truncate(FILE, 0)",
    "mode": "import os; os.chmod(FILE, 0o777)",
    "owner": "import os; os.chown(FILE, 1, 1)",
    "attribute": "import os; os.setxattr(FILE, 'user.x', b'y')",
    "times": "import os; os.utime(FILE, (1, 1))",
    "directory": "import os; os.mkdir(FILE + '4')",
    "link out": "import os; os.link('/etc/passwd', FILE + '5')",
    "own source": "import bife_core; open(bife_core.__file__, 'a').write(' ')",
}


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """A folder that one worker may read in all these calls."""
    return tmp_path_factory.mktemp("read")


@pytest.mark.parametrize("way", CHANGES)
def test_nothing_is_changed_outside_the_temporary_directory(pool, read, way):
    if not holds(pool, "files"):
        return
    file = read / "file"
    file.write_text("before")
    modified = file.stat().st_mtime_ns
    error = failure(pool, CHANGES[way].replace("FILE", repr(str(file))), reads=[file])
    assert error.error_type in ("PermissionError", "OSError"), error
    assert file.stat().st_mtime_ns == modified
    assert file.read_text() == "before"
    assert [path.name for path in read.iterdir()] == ["file"]


def test_a_worker_writes_its_temporary_directory_and_what_a_call_names_until_the_next_call(pool, tmp_path):
    run(pool, "import tempfile; tempfile.NamedTemporaryFile().write(b'x')")
    target = tmp_path / "out"
    run(pool, f"open({str(target)!r}, 'w').write('y')", writes=[target])
    assert target.read_text() == "y"
    if holds(pool, "files"):
        assert failure(pool, f"open({str(target)!r}, 'w')").error_type == "PermissionError"


def test_a_file_cannot_fill_the_disk(pool):
    source = "import tempfile\nf = tempfile.TemporaryFile()\nf.seek(2**31)\nf.write(b'x')\nf.flush()"
    assert failure(pool, source).error_type == "OSError"


def test_memory_ends_at_the_calls_share_and_the_worker_goes_on(pool):
    before = pool.submit(DESCRIBE, {}, limit_s=20).result()["pid"]
    assert failure(pool, "x = bytearray(2**29)", memory_mb=256).error_type == "MemoryError"
    assert (
        failure(pool, "x = []\nwhile True: x.append(bytes(2**20))", memory_mb=256).error_type == "MemoryError"
    )
    run(pool, "x = bytearray(2**29)", memory_mb=2048)
    assert pool.submit(DESCRIBE, {}, limit_s=20).result()["pid"] == before


def test_the_cpu_limit_holds_when_the_parent_does_not(pool):
    # The parent's limit is far away; the kernel counts CPU seconds by itself.
    source = "import resource\nresult = resource.getrlimit(resource.RLIMIT_CPU)[0]"
    assert 0 < run(pool, source, limit_s=30.0) < 60


CRASHES = {
    "segfault": "import ctypes; ctypes.string_at(0)",
    "abort": "import os; os.abort()",
    "exit": "import os; os._exit(0)",
    "kill": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "group": "import os, signal; os.killpg(0, signal.SIGKILL)",
    "closed pipes": "import os; os.closerange(0, 250)",
    "no answer to read": "import os, json\nfor fd in range(3, 250):\n"
    "    try: os.write(fd, b'[' * 100000 + b'\\n')\n    except OSError: pass",
    "another's answer": "import os\nfor fd in range(3, 250):\n"
    '    try: os.write(fd, b\'{"ok": true, "result": 7, "ticket": "0"}\\n\' * 3)\n    except OSError: pass',
    "answer without end": "import os\nwhile True:\n    for fd in range(3, 250):\n"
    "        try: os.write(fd, b'x' * 65536)\n        except OSError: pass",
}


@pytest.mark.parametrize("way", CRASHES)
def test_a_crash_costs_its_own_call_only(pool, way):
    error = failure(pool, CRASHES[way])
    assert error.kind == "died", error
    assert str(error).endswith(".")
    assert pool.submit(ECHO, {"value": way}, limit_s=20).result() == way


RAISED = {
    "exit": "raise SystemExit(3)",
    "interrupt": "raise KeyboardInterrupt",
    "generator": "raise GeneratorExit",
    "own": "class E(BaseException):\n    def __str__(self): raise SystemExit\nraise E",
    "recursion": "def f(): f()\nf()",
}


@pytest.mark.parametrize("way", RAISED)
def test_whatever_is_raised_becomes_an_answer(pool, way):
    assert failure(pool, RAISED[way], memory_mb=256).kind in ("error", "died")
    assert pool.submit(ECHO, {"value": way}, limit_s=20).result() == way


HANGS = {
    "loop": "while True: pass",
    "swallowed signals": "import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n"
    "    except (OSError, ValueError): pass\nwhile True:\n    try:\n        while True: pass\n"
    "    except BaseException: pass",
    "C code": "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
    "number": "x = 3 ** 10 ** 9",
    "sleep": "import time; time.sleep(600)",
    "stopped": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
}


@pytest.mark.parametrize("way", HANGS)
def test_what_hangs_is_stopped_at_its_limit(pool, way):
    pool.submit(ECHO, {"value": 0}, limit_s=20).result()  # a worker is there: only the call is timed
    began = time.monotonic()
    assert failure(pool, HANGS[way], limit_s=0.4).kind == "timeout"
    assert time.monotonic() - began < 0.4 + 10.0
    assert pool.submit(ECHO, {"value": way}, limit_s=20).result() == way


def test_a_workers_share_of_memory_is_no_more_than_there_is():
    assert 0 < usable_memory_mb() <= psutil.virtual_memory().total / 2**20


SECRETS = """
    OPENAI_API_KEY BIFE_LLM_API_KEY BIFE_LLM_BASE_URL AWS_SECRET_ACCESS_KEY GITHUB_TOKEN
    MLFLOW_TRACKING_PASSWORD MLFLOW_TRACKING_URI DATABASE_URL SSH_AUTH_SOCK XDG_TOKEN BIFE_SOME_token
    BIFE_STORE BIFE_MLFLOW_UI BIFE_ENV_FILE HTTPS_PROXY
"""


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "BIFE_SANDBOX_READABLE", "NUMBA_OPT"]
)
def test_what_python_scip_and_llvm_need_is_kept(name):
    assert worker_environment({name: "kept"}, Path("/tmp/x"))[name] == "kept"


def test_the_parents_search_path_comes_after_its_own_package():
    path = worker_environment({"PYTHONPATH": "/elsewhere"}, Path("/tmp/x"))["PYTHONPATH"].split(os.pathsep)
    assert path[1:] == ["/elsewhere"]
    assert (Path(path[0]) / "bife_core" / "workers").is_dir()


def test_a_real_worker_sees_no_secret_and_computes_on_one_thread(monkeypatch):
    for name in SECRETS.split():
        monkeypatch.setenv(name, "s3cret")
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    with WorkerPool(1) as pool:
        facts = pool.submit(DESCRIBE, {}, limit_s=20).result()
    environment = facts["environment"]
    assert "s3cret" not in environment.values()
    assert environment["OMP_NUM_THREADS"] == environment["NUMBA_NUM_THREADS"] == "1"
    assert environment["TMPDIR"] != os.environ.get("TMPDIR")
