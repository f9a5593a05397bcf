"""A home in operation: `bife up`, `down`, `status`, `track`, `prune`, `backup`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

from typer import Argument, Option

from bife_core.base.wording import counted
from bife_core.cli.consoles import say, show_facts, show_heading, show_table, standard_output, styled
from bife_core.cli.outcome import CommandEnd
from bife_core.cli.running import STOP_SIGNALS
from bife_core.store.home import Home, project_home
from bife_tasks import mlflow_tracks

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from rich.text import Text

    from bife_flows.operate.servers import Up
    from bife_tasks.overview import Cell, Section

_DETACH: Final = "Return once everything runs; `bife down` stops it."
_HOST: Final = "Address to listen on. Other than loopback needs BIFE_SERVER_AUTH."
_REBUILD: Final = "Write all runs again, each once: its database is new or was lost."
_RESTORE: Final = "Make the home, which must hold no file, from the archive."
_Port = Annotated[int | None, Option(min=1, max=65535, show_default="the usual or the next free one")]


def up(
    detach: Annotated[bool, Option("--detach", "-d", help=_DETACH)] = False,
    host: Annotated[str, Option(metavar="ADDRESS", help=_HOST)] = "127.0.0.1",
    mlflow_port: _Port = None,
    prefect_port: _Port = None,
) -> None:
    """Start Prefect, MLflow and a worker, and keep them running: runs are started from Prefect's page.

    Servers of yours that PREFECT_API_URL or MLFLOW_TRACKING_URI name are used and not started; MLflow is not
    started either where BIFE_TRACKER names another tracker.
    """
    from bife_flows.operate.servers import POLL_S, Server, Up, require_down, state_file

    home = project_home()
    require_down(home)
    if detach:
        _detached(home)
        return
    say(f"Starting in {home.root}; the first time takes longer ...")
    import psutil

    from bife_core.base.files import write_whole
    from bife_flows.operate import guard
    from bife_flows.operate.programs import Access, mlflow_server, ports, prefect_server, worker
    from bife_flows.reporting.artifacts import overview_place
    from bife_tasks.stores import tracker

    access, process, servers, addresses = Access.at(host), psutil.Process(), list[Server](), dict[str, str]()
    numbers = ports(access, prefect_port, mlflow_port)

    def write(**health: str) -> None:
        state = Up.of(process.pid, addresses=addresses, health=health)
        write_whole(state_file(home), state.model_dump_json(indent=1))

    def interrupt(*_: object) -> None:
        for each in STOP_SIGNALS:  # a second one does nothing, so that all programs are stopped
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for each in STOP_SIGNALS:
        signal.signal(each, interrupt)
    with ExitStack() as at_end:
        os.environ["BIFE_HOME"] = str(home.root)
        at_end.callback(state_file(home).unlink, missing_ok=True)
        guard.adopt_orphans()  # runs whose guard is killed
        at_end.callback(lambda: guard.end(process.children()))
        write()
        full = _note_lack_of_room(home)
        try:
            starts = (("Prefect", prefect_server), ("MLflow", mlflow_server))[: 1 + mlflow_tracks()]
            for (name, start), port in zip(starts, numbers, strict=False):
                addresses[name], server = start(home, access, port)
                if server is not None:
                    servers.append(server)
                    at_end.callback(server.stop)
            write()
            for server in servers:
                server.wait_ready(waits=say)
            servers.append(worker(home, access, addresses))
            # The first to be stopped, so that its runs can report how they end.
            at_end.callback(servers[-1].stop)
            servers[-1].wait_ready(waits=say)
            health = servers[0].health if servers[0].name == "Prefect" else ""
            with _prefect(health) as client:
                overview = overview_place(client)
            shown = {
                "Prefect": f"{addresses['Prefect']}   start, schedule, watch and approve runs",
                "overview": f"{addresses['Prefect']}/v2{overview}   what there is, and what waits",
            }
            if "MLflow" in addresses:
                from bife_tasks.tracking.mlflow_runs import searches_url

                runs = searches_url(addresses["MLflow"])
                shown["MLflow"] = f"{runs}   compare runs, samples and registered rules"
            else:
                shown["tracker"] = f"{tracker().name}, whose pages `bife up` does not serve"
            stop = "`bife down`, or Ctrl-C where it runs"
            show_facts([*shown.items(), ("logs", str(home.root / "logs")), ("stop", stop)])
            write(**{server.name: server.health for server in servers})
            while True:
                full = _note_lack_of_room(home, full)
                for server in servers:
                    if note := server.tend():
                        say(f"{time.strftime('%H:%M:%S')} {note}")
                time.sleep(POLL_S)
        except KeyboardInterrupt:
            say("Stopping; runs that are under way can be retried later ...")


def _note_lack_of_room(home: Home, noted: bool = False) -> bool:
    """Print that the disk of a home is all but full, unless that was `noted` before; return whether it is."""
    if (lack := home.lack_of_room) and not noted:
        say(f"{time.strftime('%H:%M:%S')} note: {lack}")
    return bool(lack)


def _detached(home: Home) -> None:
    """Run this command again as a process of its own, and wait until it is ready; raise `CommandEnd` if it ends."""
    from bife_flows.operate.servers import current

    log = home.root / "logs" / "up.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    options = [word for word in sys.argv[1:] if word not in ("--detach", "-d")]
    with log.open("wb") as output:
        words = [sys.executable, "-c", "from bife_core.cli.program import main; main()", *options]
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        variables = os.environ | {"BIFE_HOME": str(home.root)}
        process = subprocess.Popen(words, env=variables, cwd=log.parent, start_new_session=True, **streams)
    ready, shown = False, 0
    with standard_output().status("Starting ..."):
        while not ready:
            time.sleep(0.5)
            state = current(home)
            ready = state is not None and state.pid == process.pid and bool(state.health)
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            if process.poll() is not None:
                reason = "".join(lines[-1:]).removeprefix("Error: ")
                raise CommandEnd(reason or f"BiFE did not start; see {log}.")
            for line in lines[shown:]:
                if not line.startswith("Error: "):
                    say(line)
            shown = len(lines)


def down() -> None:
    """Stop what `bife up` started in this home; runs under way are stopped and can be retried later."""
    from bife_flows.operate.servers import current

    home = project_home()
    if (state := current(home)) is None:
        say(f"BiFE is not up in {home.root}.")
        return
    with standard_output().status("Stopping ..."):
        state.stop()
    say("Stopped.")


def status() -> None:
    """Say what is in this home: champions, searches, money, what waits, disk; and whether what `bife up` runs answers.

    The exit code is 1 if a part of it does not answer.
    """
    from bife_flows.operate.servers import current

    home = project_home()
    state = current(home)
    answering = {} if state is None else state.answering()
    with standard_output().status("Looking ..."):
        sections = _overview(state, answering)
    for section in sections:
        show_heading(section.title)
        if section.sentence:
            say(section.sentence)
        if section.rows:
            show_table(section.columns, [list(map(_linked, row)) for row in section.rows], numbers=False)
    say()
    if state is None or not state.health:
        say(f"BiFE is {'starting' if state else 'not up; `bife up` starts it'}.")
        return
    marks = {True: styled("answers", "green"), False: styled("does not answer", "bold red")}
    parts = [(name, marks[good], state.addresses.get(name, "")) for name, good in answering.items()]
    show_table(("part", "state", "address"), parts, numbers=False)
    show_facts([("home", str(home.root)), ("logs", str(home.root / "logs"))])
    if not all(answering.values()):
        raise CommandEnd("Not all parts answer; see the logs.")


def _overview(state: Up | None, answering: Mapping[str, bool]) -> list[Section]:
    """Return the overview, with what waits on the Prefect server of `bife up` if it answers, or on the user's own."""
    from bife_flows.operate.servers import link_to_pages
    from bife_tasks.overview import sections

    addresses = {} if state is None else state.addresses
    link_to_pages(state)
    health = state.health["Prefect"] if state is not None and answering.get("Prefect") else ""
    if not (health or os.environ.get("PREFECT_API_URL")):
        return sections()
    from bife_flows.reporting.artifacts import on_server

    pages = f"{addresses['Prefect']}/v2" if "Prefect" in addresses else None
    with _prefect(health) as client:
        return sections(lambda: on_server(client, pages))


def _prefect(health: str) -> SyncPrefectClient:
    """Return a client of the Prefect of `bife up` that has this address of its health, or without of the user's own."""
    from prefect.client.orchestration import SyncPrefectClient, get_client

    api, auth = health.removesuffix("/health"), os.environ.get("BIFE_SERVER_AUTH") or None
    return SyncPrefectClient(api, auth_string=auth) if health else get_client(sync_client=True)


def _linked(cell: Cell) -> str | Text:
    if isinstance(cell, str):
        return cell
    return styled(cell.text, f"link {cell.url}" if cell.url.startswith("http") else "")


def track(rebuild: Annotated[bool, Option("--rebuild", help=_REBUILD)] = False) -> None:
    """Write to MLflow what it lacks of the runs in the store, as after an outage, or into an empty server.

    Another tracker, which BIFE_TRACKER names, copies what it lacks in its own way.

    Rules that were registered before there was an MLflow are registered in it; those that were registered in an MLflow
    that was lost, the command that registered them registers again.
    """
    from bife_tasks.stores import ENDED, observing, tracker

    if not mlflow_tracks():
        name = tracker().name
        if rebuild:
            raise CommandEnd(f"--rebuild is for MLflow, and BIFE_TRACKER names {name}; leave it out.")
        if lack := tracker().synchronise(ENDED):
            raise CommandEnd(lack)
        say(f"Runs are kept by {name}, which reports no lack; which runs it has is not shown here.")
        return
    with standard_output().status("Starting ..."):
        from bife_core.cli.watching import Display
        from bife_tasks.registry.mlflow_registry import carry_over
        from bife_tasks.tracking.mlflow_runs import client, tracking_uri
        from bife_tasks.tracking.subscriber import track as track_all

        client()
    done = left = 0
    with observing(Display(standard_output())):
        for study, reason in track_all(rebuild=rebuild):
            done, left = done + (not reason), left + bool(reason)
            say(f"{study.key}  {study.name}: {reason or 'written'}")
    say(f"MLflow at {tracking_uri()}: {counted(done, 'run')} written, {left} left.")
    if copied := carry_over(rebuild=rebuild):
        say(f"{counted(copied, 'version')} of rules registered, from the store's registry.")
    if left:
        raise CommandEnd(f"{counted(left, 'run')} could not be written whole.")


def prune(
    keep_days: Annotated[int, Option(metavar="N", min=1, help="What changed in the last N days stays.")] = 90,
    yes: Annotated[bool, Option("--yes", help="Remove it; without, only say what would go.")] = False,
) -> None:
    """Remove what old runs left: files, runs in MLflow, expert samples, and Prefect's history.

    What the evidence of a registered rule names stays, and so does the store: answers of models, solves, and what
    instances have served.
    """
    before = datetime.now(UTC) - timedelta(keep_days)
    with standard_output().status("Looking ..."):
        from prefect.client.orchestration import get_client
        from prefect.client.schemas.filters import FlowRunFilter
        from prefect.client.schemas.objects import TERMINAL_STATES
        from prefect.exceptions import ObjectNotFound

        from bife_flows.operate.running import reach_prefect
        from bife_tasks.retention import Retention
        from bife_tasks.stores import ENDED, tracker

        if not mlflow_tracks() and (left := tracker().synchronise(ENDED)):
            raise CommandEnd(f"{left} Nothing was removed.")
        reach_prefect()
        old = Retention(before.timestamp())
        what = {"searches, collections, evaluations": old.studies, "folders of expert samples": old.samples}
        size = {kind: f"{sum(folder.size_mb for folder in folders):.1f}" for kind, folders in what.items()}
        rows = [(kind, str(len(folders)), size[kind]) for kind, folders in what.items()]
        ended = {"state": {"type": {"any_": [*TERMINAL_STATES]}}, "end_time": {"before_": before}}
        runs: list[UUID] = []
        with get_client(sync_client=True) as client:
            wanted = FlowRunFilter.model_validate(ended)
            while page := client.read_flow_runs(flow_run_filter=wanted, limit=200, offset=len(runs)):
                runs += [run.id for run in page]
            history = [run for run in runs if str(run) not in old.flow_runs]
            for run in history if yes else ():
                with suppress(ObjectNotFound):  # it was below one that is gone
                    client.delete_flow_run(run)
        for folder in (*old.studies, *old.samples) if yes else ():
            folder.remove()
    rows.append(("flow runs of Prefect", str(len(history)), "-"))
    show_table(("older than " + counted(keep_days, "day"), "number", "MB"), rows)
    if not mlflow_tracks():
        say(f"Runs that {tracker().name} keeps are not known here, and stay.")
    say("Removed." if yes else "Nothing was removed; --yes removes it.")


def backup(
    file: Annotated[Path, Argument(metavar="FILE", help="The archive, such as bife.tar.gz.")],
    restore: Annotated[bool, Option("--restore", help=_RESTORE)] = False,
) -> None:
    """Write all of the home into one file, also while runs are under way."""
    from bife_core.store import backup

    home = project_home()
    with standard_output().status("Copying ..."):
        for note in (backup.restore if restore else backup.back_up)(home, file) or ():
            say(f"note: {note}")
    say(f"{home.root} is as it was." if restore else f"{file}: {file.stat().st_size / 1e6:.1f} MB.")


COMMANDS = (up, down, status, track, prune, backup)
