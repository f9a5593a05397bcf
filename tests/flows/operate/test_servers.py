"""A server program: what it gets, that nothing outlives its owner, what ends by itself, and who may reach it."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from functools import cache

import psutil
import pytest
from prefect.settings import PREFECT_SERVER_DATABASE_CONNECTION_URL, temporary_settings

from bife_core.base.errors import ConfigError
from bife_core.store.claims import runs
from bife_core.store.home import Home
from bife_flows.operate import running
from bife_flows.operate.programs import AUTH_VARIABLE, Access, mlflow_server, ports, prefect_server, worker
from bife_flows.operate.servers import (
    Server,
    ServerError,
    Up,
    answers,
    current,
    free_port,
    link_to_pages,
    require_down,
    state_file,
)
from bife_tasks.tracking.mlflow_runs import page
from tests.support.operating import until

# Serves, and starts a child in a session of its own that ignores the polite signal, as the server itself may do.
TOY = """
import http.server, signal, subprocess, sys, os
if "--deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", deaf], start_new_session=True)
print("child", os.getpid(), child.pid, *map(os.environ.get, ["TOY", "TAKEN", "PYTHONDONTWRITEBYTECODE"]), flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""
OWNER = """
import os, pathlib, signal, sys, time
from bife_flows.operate.servers import Server
port, folder = sys.argv[1:]
log = pathlib.Path(folder) / "toy.log"
server = Server("Toy", [sys.executable, "-c", os.environ["CODE"], port], {}, f"http://127.0.0.1:{port}/", log)
server.wait_ready(60)
print(server.pid, flush=True)
time.sleep(600)
"""


def toy(folder, *arguments, **variables):
    port = free_port(0)
    command = [sys.executable, "-c", TOY, str(port), *arguments]
    return Server("Toy", command, variables, f"http://127.0.0.1:{port}/", folder / "logs" / "toy.log")


def failing(folder, code):
    return Server("Toy", [sys.executable, "-c", code], {}, "http://127.0.0.1:9/", folder / "toy.log")


@pytest.mark.parametrize("deaf", [(), ("--deaf",)])
def test_a_server_gets_its_environment_and_leaves_nothing_behind(tmp_path, monkeypatch, deaf):
    monkeypatch.setenv("TAKEN", "value")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    server = toy(tmp_path, *deaf, TOY="given", TAKEN="")
    try:
        server.wait_ready(60)
        server.check()
    finally:
        server.stop()
    _, own, child, *known = server.log.read_text().splitlines()[0].split()
    assert known == ["given", "None", "None"]
    assert not runs(int(own))
    assert not runs(int(child))
    with pytest.raises(ServerError, match=r"Toy (ended with code|was ended by)"):
        server.check()
    server.stop()  # once more does no harm


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_an_owner_that_is_killed(tmp_path, number):
    words = [sys.executable, "-c", OWNER, str(free_port(0)), str(tmp_path)]
    owner = subprocess.Popen(words, env=os.environ | {"CODE": TOY}, stdout=subprocess.PIPE, text=True)
    guardian = int(owner.stdout.readline())
    family = psutil.Process(owner.pid).children(recursive=True)
    assert guardian in {process.pid for process in family}
    assert len(family) == 3  # the guard, the toy, its child
    owner.send_signal(number)
    owner.communicate(timeout=60)
    until(lambda: not any(runs(process.pid) for process in family), "the family to end", 60)


def test_what_a_killed_guard_leaves_makes_room_for_the_next(tmp_path):
    server = toy(tmp_path)
    try:
        server.wait_ready(60)
        own, child = map(int, server.log.read_text().split()[1:3])
        os.kill(server.pid, signal.SIGKILL)
        said = until(server.tend, "the end to be noticed", 60)
        assert said.startswith("Started again: Toy was ended by SIGKILL")
        until(lambda: not runs(own), "the former program to end", 60)
        server.wait_ready(60)
    finally:
        server.stop()
        os.kill(child, signal.SIGKILL)  # it has a session of its own, and `bife up` alone adopts orphans


@pytest.mark.parametrize("hangs_s", [0.5, None])
def test_what_hangs_is_started_again_unless_runs_would_end_with_it(tmp_path, hangs_s):
    port = str(free_port(0))
    command = [sys.executable, "-m", "http.server", port, "--bind", "127.0.0.1"]
    server = Server("Toy", command, {}, f"http://127.0.0.1:{port}/", tmp_path / "toy.log", hangs_s)
    try:
        server.wait_ready(60)
        (program,) = psutil.Process(server.pid).children()
        begun_s = time.monotonic()
        while time.monotonic() < begun_s + 1.0:
            assert server.tend() is None  # it answers
        program.suspend()
        if hangs_s is None:
            while time.monotonic() < begun_s + 4.0:
                assert server.tend() is None
            return
        said = until(server.tend, "its silence to be noticed", 60)
        assert re.match(r"Started again: Toy has not answered for \d+ s; see .*toy\.log\.", said)
        assert not runs(program.pid)
        server.wait_ready(60)
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (
            "import os; print('so far', flush=True); os.kill(os.getpid(), 9)",
            "was ended by SIGKILL; .* so far",
        ),
        ("print('preparing'); raise SystemExit('out of memory')", "ended with code 1; .* is: out of memory"),
        ("", "ended with code 0; .* is empty"),
    ],
)
def test_what_ends_early_says_why(tmp_path, code, text):
    server = failing(tmp_path, code)
    with pytest.raises(ServerError, match=f"Toy {text}"):
        server.wait_ready(60)
    server.stop()


def test_what_ends_is_started_again_and_at_last_given_up(tmp_path):
    server = failing(tmp_path, "raise SystemExit('out of memory')")
    for _ in range(5):
        assert "Started again: Toy ended with code 1" in until(server.tend, "the end to be noticed", 60)
    with pytest.raises(ServerError, match=r"It has ended 6 times within 10 minutes"):
        until(server.tend, "the last end", 60)


def test_a_server_that_never_answers_is_given_up(tmp_path):
    server = failing(tmp_path, "import time; time.sleep(600)")
    try:
        with pytest.raises(ServerError, match=r"did not answer within 0\.5 s"):
            server.wait_ready(0.5)
    finally:
        server.stop()


def test_a_server_that_computes_is_waited_for(tmp_path):
    port, told = free_port(0), []
    command = [sys.executable, "-c", f"import time\nwhile time.process_time() < 1.7: pass\n{TOY}", str(port)]
    server = Server("Toy", command, {}, f"http://127.0.0.1:{port}/", tmp_path / "toy.log")
    try:
        server.wait_ready(1.5, told.append)
    finally:
        server.stop()
    assert [text.partition(";")[0] for text in told] == ["Waiting for Toy"]


def test_another_program_at_its_address_is_not_taken_for_the_server(tmp_path):
    stranger, own = toy(tmp_path), failing(tmp_path, "import time; time.sleep(2)")
    try:
        stranger.wait_ready(60)
        own.health = stranger.health
        assert [answers(stranger.health, one.pid) for one in (stranger, own)] == [True, False]
        with pytest.raises(ServerError, match=rf"Toy ended with code 0; another .*{own.health}\."):
            own.wait_ready(60)
    finally:
        own.stop()
        stranger.stop()


def test_a_database_that_prefect_does_not_know_is_said_to_be_so(tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_HOME", str(tmp_path))
    (tmp_path / "prefect.db").write_bytes(b"no database" * 100)
    settings = {PREFECT_SERVER_DATABASE_CONNECTION_URL: f"sqlite+aiosqlite:///{tmp_path / 'prefect.db'}"}
    reason = "file is not a database. If a newer Prefect wrote its database, install"
    launched = cache(running._launched.__wrapped__)  # another test may have launched one
    monkeypatch.setattr(running, "_launched", launched)
    with temporary_settings(settings):
        failed, _ = launched()
        with pytest.raises(ServerError, match=re.escape(reason)):
            running.start_embedded_api.__wrapped__()
        another, _ = launched()
        another.stop()
    assert another is not failed


def test_a_taken_port_is_passed_over_unless_it_was_asked_for():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert free_port(port) != port
        with pytest.raises(ServerError, match=f"Port {port} of 127.0.0.1 cannot be used"):
            ports(Access(), None, port)
    assert free_port(port) == port
    other = f"from bife_flows.operate.servers import free_port; print(free_port({port}))"
    assert int(subprocess.check_output([sys.executable, "-c", other])) != port, "kept until a server listens"


def test_other_machines_need_a_password(monkeypatch):
    monkeypatch.delenv(AUTH_VARIABLE, raising=False)
    assert Access.at("127.0.0.1").auth is None
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org"):
        with pytest.raises(ConfigError, match=f"set {AUTH_VARIABLE} to name:password"):
            Access.at(host)
    monkeypatch.setenv(AUTH_VARIABLE, "operator:twelve-or-so")
    assert [Access.at(host).reach for host in ("0.0.0.0", "::1")] == ["127.0.0.1", "[::1]"]
    assert {"localhost", "127.0.0.1"} < set(Access.at("0.0.0.0").names)
    assert Access.at("192.168.1.5").names[0] == "192.168.1.5"


@pytest.mark.parametrize("malformed", ["operator", "operator:", ":secret-of-many", "operator:eleven-char"])
def test_a_password_that_is_none_or_too_short_is_refused_and_not_shown(monkeypatch, malformed):
    monkeypatch.setenv(AUTH_VARIABLE, malformed)
    with pytest.raises(ConfigError, match=r"name:password|at least 12 characters") as caught:
        Access.at("127.0.0.1")
    assert not [word for word in ("secret", "eleven") if word in str(caught.value)]


def test_links_name_an_address_that_others_reach(tmp_path, monkeypatch):
    monkeypatch.setattr("bife_flows.operate.programs.Server", lambda *args, **_: args)
    for name in ("PREFECT_API_URL", "PREFECT_UI_URL", "BIFE_MLFLOW_UI"):
        monkeypatch.delenv(name, raising=False)
    access = Access("0.0.0.0", "operator:twelve-or-so")
    address, prefect = prefect_server(Home(tmp_path), access, 4200)
    port = address.rpartition(":")[2]
    assert prefect[3] == f"http://127.0.0.1:{port}/api/health"
    variables = worker(Home(tmp_path), access, {"Prefect": address, "MLflow": "http://192.168.1.5:5000"})[2]
    assert variables["PREFECT_API_URL"] == f"http://127.0.0.1:{port}/api"
    assert variables["PREFECT_UI_URL"] == f"{address}/v2"
    assert variables["BIFE_MLFLOW_UI"] == "http://192.168.1.5:5000"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://mlflow.example.org")
    assert mlflow_server(Home(tmp_path), access, 5000) == ("https://mlflow.example.org", None)


def test_a_home_has_one_start_and_a_state_of_the_dead_is_none(tmp_path, monkeypatch):
    home = Home(tmp_path)
    assert current(home) is None
    state_file(home).write_text("{half a file")
    assert current(home) is None
    state = Up.of(os.getpid(), addresses={"Prefect": "http://127.0.0.1:4200"})
    state_file(home).write_text(state.model_dump_json())
    assert current(home) == state
    with pytest.raises(ServerError, match=r"already up in .* Prefect is at http://127\.0"):
        require_down(home)
    with monkeypatch.context() as patch:
        before_s = psutil.boot_time()
        patch.setattr("psutil._psplatform.boot_time", lambda: before_s + 5.0)  # as when the clock is set
        assert current(home) == state
    # The same number, given to another process since.
    state_file(home).write_text(state.model_copy(update={"began_s": state.began_s - 100}).model_dump_json())
    assert current(home) is None
    began = time.monotonic()
    require_down(home)
    assert time.monotonic() - began < 5.0


def test_links_of_a_run_in_a_terminal_lead_to_the_pages_that_are_up(tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_MLFLOW_UI", "")
    monkeypatch.delenv("BIFE_MLFLOW_UI")
    link_to_pages(current(Home(tmp_path)))
    assert "BIFE_MLFLOW_UI" not in os.environ
    state = Up.of(os.getpid(), addresses={"MLflow": "http://127.0.0.1:5123"})
    state_file(Home(tmp_path)).write_text(state.model_dump_json())
    link_to_pages(current(Home(tmp_path)))
    assert page("experiments/1").startswith("http://127.0.0.1:5123/#/experiments/1")
    monkeypatch.setenv("BIFE_MLFLOW_UI", "http://models.example")
    link_to_pages(current(Home(tmp_path)))
    assert page("experiments/1").startswith("http://models.example/#/")
