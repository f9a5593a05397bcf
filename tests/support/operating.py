"""A real `bife up` in a home of its own, and its servers' APIs, used as their pages use them."""

from __future__ import annotations

import re
import sys
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import psutil

from bife_core.store.home import Home
from bife_flows.operate.servers import Server, current, free_port, state_file
from tests.support.programs import environment, program

FINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
Auth = tuple[str, str]


def until(condition, what, limit_s=400.0):
    """Wait until something holds and return it."""
    deadline = time.monotonic() + limit_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {limit_s:g} s for {what}"
        time.sleep(0.2)
    return found


def smoke(**changed):
    """Return the settings of a run that takes seconds, some of them changed: ``samples=4, search__population=2``."""
    advanced = {name.replace("__", "."): value for name, value in changed.items() if "__" in name}
    own = {name: value for name, value in changed.items() if "__" not in name}
    return {"preset": "smoke", "seed": 0} | own | {"advanced": nested(advanced)}


def nested(dotted):
    """Return settings by dotted names as a form sends them."""
    sections = {}
    for where, value in dotted.items():
        *path, last = where.split(".")
        node = sections
        for name in path:
            node = node.setdefault(name, {})
        node[last] = value
    return sections


class Patient(httpx.HTTPTransport):
    """Asks again as Prefect's own clients do: a server of one's own answers 503 while SQLite is busy."""

    def handle_request(self, request):
        for _ in range(10):
            answer = super().handle_request(request)
            if answer.status_code != 503:
                return answer
            answer.close()
            time.sleep(1.0)
        return super().handle_request(request)


class PrefectPage:
    """What Prefect's page asks its server for."""

    def __init__(self, address, auth=None, transport=None):
        self.client = httpx.Client(
            base_url=f"{address}/api", auth=auth, timeout=120.0, transport=transport, trust_env=False
        )
        name = uuid.uuid4().hex  # a client has one token, the last one it asked for
        answer = self.client.get("/csrf-token", params={"client": name})
        if answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY:
            return  # a server that is not configured to ask for tokens
        token = answer.raise_for_status().json()["token"]
        self.client.headers.update({"Prefect-Csrf-Token": token, "Prefect-Csrf-Client": name})

    def ask(self, method, path, **body):
        return self.client.request(method, path, json=body or None).raise_for_status().json()

    def deployment(self, name):
        return self.ask("GET", f"/deployments/name/{name}/{name}")

    def start(self, deployment, **parameters):
        """Press "Run" in a deployment's form."""
        # The key makes one run of it, however often it is sent.
        body = {"parameters": parameters, "state": {"type": "SCHEDULED"}, "idempotency_key": uuid.uuid4().hex}
        place = f"/deployments/{self.deployment(deployment)['id']}/create_flow_run"
        return self.client.post(place, json=body)

    def retry(self, run_id):
        """Press "Retry" on a run's page."""
        state = {"type": "SCHEDULED", "name": "AwaitingRetry", "message": "Retry from the page"}
        return self.ask("POST", f"/flow_runs/{run_id}/set_state", state=state)

    def resume(self, run_id, **answer):
        """Fill in the form of a run that waits for a person, and send it."""
        return self.ask("POST", f"/flow_runs/{run_id}/resume", run_input=answer)

    def run(self, run_id):
        return self.ask("GET", f"/flow_runs/{run_id}")

    def runs(self, **chosen):
        return self.ask("POST", "/flow_runs/filter", **chosen)

    def runs_of(self, deployment):
        return self.runs(flow_runs={"deployment_id": {"any_": [self.deployment(deployment)["id"]]}})

    def triggered(self, automation_id):
        """The times that an automation was triggered."""
        wanted = {
            "event": {"name": ["prefect.automation.triggered"]},
            "resource": {"id": [f"prefect.automation.{automation_id}"]},
        }
        return self.ask("POST", "/events/filter", filter=wanted)["events"]

    def logs(self, run_id):
        """All that a run and its tasks logged."""
        lines = self.ask("POST", "/logs/filter", logs={"flow_run_id": {"any_": [run_id]}}, limit=200)
        return "\n".join(line["message"] for line in lines)

    def end_of(self, run_id):
        """Wait for a run's end, as long as it takes on a machine with other work; a test has a limit of its own."""
        until(lambda: self.run(run_id)["state_type"] in FINAL, f"the end of run {run_id}", 3600.0)
        return self.run(run_id)

    def end_well(self, deployment, **parameters):
        """Start a run, wait for its end, and return it; it must end well."""
        started = self.start(deployment, **parameters).raise_for_status().json()
        ended = self.end_of(started["id"])
        assert ended["state_type"] == "COMPLETED", ended["state"]
        return ended


@dataclass(frozen=True)
class Operated:
    """A home in which `bife up` runs."""

    home: Home
    prefect: str
    mlflow: str
    auth: Auth | None
    page: PrefectPage
    variables: dict[str, str]
    printed: dict[str, str] = field(default_factory=dict)
    """The addresses that it printed, by name."""

    def bife(self, *arguments):
        return program(*arguments, home=self.home.root, **self.variables)

    @property
    def healthy(self):
        return self.bife("status").returncode == 0

    def process(self, word):
        """The process of this `bife up` whose command has a word, such as `serving` of its worker."""
        family = psutil.Process(self.pid).children(recursive=True)
        return next(one for one in reversed(family) if any(word in part for part in one.cmdline()))

    @property
    def pid(self):
        state = current(self.home)
        assert state is not None
        return state.pid

    def tracked(self, method, path, **asked):
        """Ask MLflow's REST API."""
        given = {"params" if method == "GET" else "json": asked}
        address = f"{self.mlflow}/api/2.0/mlflow/{path}"
        answer = httpx.request(method, address, auth=self.auth, trust_env=False, timeout=60.0, **given)
        return answer.raise_for_status().json()


def processes_of(home):
    """Return the commands of all processes that work in a home."""
    found = psutil.process_iter(["environ", "cmdline"])
    return [
        one.info["cmdline"] for one in found if (one.info["environ"] or {}).get("BIFE_HOME") == str(home.root)
    ]


@contextmanager
def own_prefect(directory):
    """Run a Prefect server that is not BiFE's, nothing of it in BiFE's home, and yield its user's environment."""
    port = str(free_port(0))
    variables = environment(
        directory / "home", PREFECT_HOME=str(directory / "prefect"), PREFECT_SERVER_API_PORT=port
    )
    address = f"http://127.0.0.1:{port}/api"
    command = [sys.executable, "-m", "prefect", "server", "start"]
    server = Server("Prefect", command, variables, f"{address}/health", directory / "prefect.log")
    try:
        server.wait_ready()
        yield variables | {"PREFECT_API_URL": address}
    finally:
        server.stop()


@contextmanager
def bife_up(home, *arguments, auth=None, **variables):
    """Run `bife up` on free ports with more options and variables; at the end nothing of it may be left."""
    variables = {"BIFE_SERVER_AUTH": ":".join(auth) if auth else ""} | variables
    ports = {"--prefect-port": str(free_port(0)), "--mlflow-port": str(free_port(0))}
    options = [text for option in ports.items() for text in option]
    try:
        started = program("up", "--detach", *options, *arguments, home=home.root, **variables)
        assert started.returncode == 0, started.stderr + started.stdout
        prefect, mlflow = (f"http://127.0.0.1:{port}" for port in ports.values())
        # With --host 0.0.0.0 they are named by an address that others reach them at.
        assert all(re.search(rf"http://\S+:{port}\b", started.stdout) for port in ports.values())
        page = PrefectPage(prefect, auth)
        printed = dict(re.findall(r"^(\w+) +(http\S+)", started.stdout, re.MULTILINE))
        yield Operated(home, prefect, mlflow, auth, page, variables, printed)
        page.client.close()
        assert processes_of(home)
        stopped = program("down", home=home.root, **variables)
        assert stopped.stdout.startswith("Stopped."), stopped.stdout + stopped.stderr
        assert processes_of(home) == []
        assert not state_file(home).exists()
    finally:
        program("down", home=home.root, **variables)  # does nothing where the above was reached
