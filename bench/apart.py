"""A run on machines that share no disk: everything they need of one another travels through the storage root.

Starts an S3 server of this machine (moto's; with `--root file` a directory takes its place), a Dask scheduler and two
workers, each with a home of its own, and runs the pipeline of the smoke preset on them. Then the same from a further
home, as if the first machine had been lost: it has to find everything. One JSON object: {root, first, second,
made_again, objects}. `first` and `second` are what `bench.scale_out` prints of a run, `objects` counts what lies below
the root by its first name, and `made_again` how many decisions and solves the second run added to it, which must be 0.

Needs the extras `dask` and `s3`, and for S3 `pip install 'moto[server]'`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import fsspec

from bench import parser_of, tell
from bench.scale_out import in_home
from flows.operate.servers import LOOPBACK, Server, free_port

_BUCKET = "bife-bench"
_PAID = ("decisions", "solves")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--root", choices=("s3", "file"), default="s3")
    kind = parser.parse_args().root
    with tempfile.TemporaryDirectory(prefix="bife-apart-") as directory, ExitStack() as running:
        place = Path(directory)
        root = running.enter_context(s3(place)) if kind == "s3" else (place / "root").as_uri()
        os.environ |= {"BIFE_STORAGE": root, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
        address = running.enter_context(cluster(place))
        first = in_home(str(place / "first"), "dask", "--address", address)
        before = objects(root)
        second = in_home(str(place / "second"), "dask", "--address", address)
        after = objects(root)
    again = sum(after[name] - before[name] for name in _PAID)
    report = {"root": kind, "first": first, "second": second, "made_again": again, "objects": dict(after)}
    tell(report)
    if again or first["digest"] != second["digest"]:
        sys.exit(1)


@contextmanager
def s3(place: Path) -> Iterator[str]:
    """Run an S3 server and yield the address of a root in it."""
    port = free_port(0)
    address = f"http://{LOOPBACK}:{port}"
    os.environ |= {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    command = [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", str(port)]
    server = Server("S3", command, {}, f"{address}/moto-api/", place / "logs" / "s3.log")
    try:
        server.wait_ready()
        fsspec.filesystem("s3").mkdir(_BUCKET)
        yield f"s3://{_BUCKET}/bife"
    finally:
        server.stop()


@contextmanager
def cluster(place: Path) -> Iterator[str]:
    """Run a scheduler and two workers with homes of their own, and yield the scheduler's address."""
    port, page = free_port(0), free_port(0)
    address = f"tcp://{LOOPBACK}:{port}"
    dask = [sys.executable, "-m", "dask"]
    with ExitStack() as running:
        where = ["--host", LOOPBACK, "--port", str(port), "--dashboard-address", f"{LOOPBACK}:{page}"]
        health = f"http://{LOOPBACK}:{page}/health"
        log = place / "logs"
        scheduler = Server("scheduler", [*dask, "scheduler", *where], {}, health, log / "scheduler.log")
        running.callback(scheduler.stop)
        scheduler.wait_ready()
        for number in range(2):
            home, page = place / f"worker-{number}", free_port(0)
            command = [
                *dask,
                "worker",
                address,
                "--nthreads",
                "1",
                "--dashboard-address",
                f"{LOOPBACK}:{page}",
            ]
            environment = {"BIFE_HOME": str(home), "BIFE_STORAGE": ""}
            health = f"http://{LOOPBACK}:{page}/health"
            worker = Server(f"worker {number}", command, environment, health, log / f"worker-{number}.log")
            running.callback(worker.stop)
            worker.wait_ready()
        yield address


def objects(root: str) -> Counter[str]:
    """Count the objects below the root by the first name of their keys."""
    system, base = fsspec.core.url_to_fs(root, use_listings_cache=False)
    return Counter(str(name).removeprefix(f"{base}/").partition("/")[0] for name in system.find(base))


if __name__ == "__main__":
    main()
