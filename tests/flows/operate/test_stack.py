"""Who may reach the servers, one start per home, and what ends by itself. The whole is tested in test_operating."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil
import pytest

from bife_core.errors import ConfigError
from flows.operate.programs import AUTH_VARIABLE, Access, mlflow_server, prefect_server, worker
from flows.operate.servers import Server, ServerError, free_port
from flows.operate.stack import Up, alone, read_state, state_file, write_state
from tasks.home import Home


@pytest.fixture
def own_home(tmp_path):
    return Home(tmp_path)


def test_other_machines_are_let_in_with_a_password_only(monkeypatch):
    monkeypatch.delenv(AUTH_VARIABLE, raising=False)
    assert Access.at("127.0.0.1").auth is None
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org"):
        with pytest.raises(
            ConfigError, match=rf"At {host} other machines .* set {AUTH_VARIABLE} to name:password"
        ):
            Access.at(host)
    monkeypatch.setenv(AUTH_VARIABLE, "operator:twelve-or-so")
    assert Access.at("0.0.0.0").reach == "127.0.0.1"
    assert Access.at("::1").reach == "[::1]"
    assert {"localhost", "127.0.0.1"} < set(Access.at("0.0.0.0").names)
    assert Access.at("192.168.1.5").names[0] == "192.168.1.5"


def test_other_machines_are_let_in_and_told_an_address_they_can_reach(own_home, monkeypatch):
    # As on Debian, where a machine's own name means its loopback.
    monkeypatch.setattr("socket.getaddrinfo", lambda *_: [(0, 0, 0, "", ("127.0.1.1", 0))])
    cards = {
        name: [SimpleNamespace(family=socket.AF_INET, address=address)]
        for name, address in (("lo", "127.0.0.1"), ("eth0", "192.168.1.5"), ("docker0", "172.17.0.1"))
    }
    monkeypatch.setattr("psutil.net_if_addrs", lambda: cards)
    monkeypatch.setattr("flows.operate.programs.Server", lambda *args, **_: args)
    for name in ("PREFECT_API_URL", "PREFECT_UI_URL", "BIFE_MLFLOW_UI"):
        monkeypatch.delenv(name, raising=False)
    access = Access("0.0.0.0", "operator:twelve-or-so")
    assert {"127.0.1.1", "192.168.1.5", "172.17.0.1"} < set(access.names)
    address, prefect = prefect_server(own_home, access, None)
    port = address.rpartition(":")[2]
    assert address == f"http://192.168.1.5:{port}"
    assert prefect[3] == f"http://127.0.0.1:{port}/api/health"
    told = worker(own_home, access, {"Prefect": address, "MLflow": "http://192.168.1.5:5000"})[2]
    assert told["PREFECT_API_URL"] == f"http://127.0.0.1:{port}/api"
    assert (told["PREFECT_UI_URL"], told["BIFE_MLFLOW_UI"]) == (f"{address}/v2", "http://192.168.1.5:5000")
    monkeypatch.setenv("BIFE_MLFLOW_UI", "https://mlflow.example.org")
    assert worker(own_home, access, {"Prefect": address, "MLflow": ""})[2]["BIFE_MLFLOW_UI"].startswith(
        "https"
    )
    assert Access().shown == "127.0.0.1"
    assert Access("fe80::1").shown == "[fe80::1]"


@pytest.mark.parametrize("malformed", ["operator", "operator:", ":secret"])
def test_a_password_without_a_name_is_none(monkeypatch, malformed):
    monkeypatch.setenv(AUTH_VARIABLE, malformed)
    with pytest.raises(ConfigError, match="must have the form name:password") as caught:
        Access.at("127.0.0.1")
    assert "secret" not in str(caught.value)


def test_a_password_that_mlflow_would_not_start_with_is_refused_where_it_is_to_start(own_home, monkeypatch):
    access = Access(auth="operator:eleven-char")
    with pytest.raises(ConfigError, match="at least 12 characters") as caught:
        mlflow_server(own_home, access, None)
    assert "eleven" not in str(caught.value)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://mlflow.example.org")
    assert mlflow_server(own_home, access, None) == ("https://mlflow.example.org", None)


def test_a_port_that_was_asked_for_and_is_taken_is_an_error(own_home, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as foreigner:
        try:
            port = int(foreigner.stdout.readline().split("port ")[1].split()[0])
            with pytest.raises(ServerError, match=f"Port {port} of 127.0.0.1 cannot be used"):
                prefect_server(own_home, Access(), port)
            assert free_port(port) in range(port + 1, port + 10)
        finally:
            foreigner.terminate()
    assert free_port(0, asked=port) == port


def test_a_home_has_one_start_at_a_time(own_home):
    state = Up.of_this_process(own_home).model_copy(
        update={"addresses": {"Prefect": "http://127.0.0.1:4200"}}
    )
    with alone(own_home):
        write_state(own_home, state)
        assert read_state(own_home) == state
        with (
            pytest.raises(
                ServerError, match=r"already up in .* with Prefect at http://127.0.0.1:4200; `bife down`"
            ),
            alone(own_home),
        ):
            pass
    with alone(own_home):
        pass


def test_a_state_of_the_dead_is_known_for_one(own_home):
    assert read_state(own_home) is None
    state_file(own_home).write_text("{half a file")
    assert read_state(own_home) is None
    state = Up.of_this_process(own_home)
    assert state.alive
    # The same number, given to another process since.
    assert not state.model_copy(update={"created": state.created - 100}).alive
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    assert not state.model_copy(update={"pid": ended.pid}).alive


def test_what_ends_is_started_again_but_not_for_ever(tmp_path):
    command = [sys.executable, "-c", "raise SystemExit('out of memory')"]
    server = Server("Toy", command, {}, "http://127.0.0.1:9/", tmp_path / "toy.log")

    def tend_after_its_end():
        deadline = time.monotonic() + 30
        while psutil.Process(server.pid).status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
            time.sleep(0.01)
        return server.tend()

    said = [tend_after_its_end() for _ in range(5)]
    with pytest.raises(ServerError, match="out of memory; it has ended 6 times within 10 minutes"):
        tend_after_its_end()
    assert all(sentence.startswith("Started again: Toy ended with code 1") for sentence in said)
    assert server.restarts == 5
