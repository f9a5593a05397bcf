"""A server program: what it gets, what it leaves, and what is said when it ends by itself."""

import socket
import sys
import time

import psutil
import pytest

from flows.operate.servers import Server, ServerError, free_port

# Serves, and starts a child that ignores the polite signal, as does the server itself on request.
TOY = """
import http.server, signal, subprocess, sys, os
if "--deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", deaf])
print("child", child.pid, os.environ.get("TOY"), os.environ.get("TAKEN"), flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


def toy(tmp_path, *arguments, **variables):
    port = free_port(0)
    return Server(
        "Toy",
        [sys.executable, "-c", TOY, str(port), *arguments],
        variables,
        f"http://127.0.0.1:{port}/",
        tmp_path / "logs" / "toy.log",
    )


def gone(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_server_gets_its_environment_and_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TAKEN", "value")
    monkeypatch.setattr("flows.operate.servers._STOP_LIMIT_S", 1.0)
    server = toy(tmp_path, TOY="given", TAKEN="")
    try:
        server.wait_ready(30)
        server.check()
    finally:
        server.stop()
    _, child, given, taken = server.log.read_text().splitlines()[0].split()
    assert (given, taken) == ("given", "None")
    assert gone(int(child))
    with pytest.raises(ServerError, match="ended with code"):
        server.check()


def test_a_server_that_does_not_listen_to_reason_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("flows.operate.servers._STOP_LIMIT_S", 1.0)
    server = toy(tmp_path, "--deaf")
    server.wait_ready(30)
    child = int(server.log.read_text().split()[1])
    server.stop()
    assert gone(child)
    server.stop()  # once more does no harm


def test_a_server_that_ends_early_says_why(tmp_path):
    command = [sys.executable, "-c", "print('preparing'); raise SystemExit('the port is taken')"]
    server = Server("Toy", command, {}, "http://127.0.0.1:9/", tmp_path / "toy.log")
    with pytest.raises(ServerError, match=r"Toy ended with code 1; .* is: the port is taken"):
        server.wait_ready(30)
    server.stop()


def test_a_server_that_never_answers_is_given_up(tmp_path):
    server = Server(
        "Toy",
        [sys.executable, "-c", "import time; time.sleep(600)"],
        {},
        "http://127.0.0.1:9/",
        tmp_path / "toy.log",
    )
    try:
        with pytest.raises(ServerError, match=r"did not answer within 0\.5 s"):
            server.wait_ready(0.5)
    finally:
        server.stop()


def test_all_restarts_are_counted_however_long_ago(tmp_path, monkeypatch):
    monkeypatch.setattr("flows.operate.servers._RESTARTS_WITHIN_S", 0.0)
    server = Server("Toy", ["true"], {}, "http://127.0.0.1:9/", tmp_path / "toy.log")
    deadline = time.monotonic() + 30
    while server.restarts < 7 and time.monotonic() < deadline:
        server.tend()
    server.stop()
    assert server.restarts == 7


def test_a_taken_port_is_passed_over():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) != port
    assert free_port(port) == port
