"""Which pictures of pages are older than their pages: `python -m bench.pictures`, a part of `make lint`.

Beside the pictures, `pages.json` has what made the page of each when it was taken: a hash of every file of which the
page is made, and the version of its server. `make screenshots` takes pictures and renews the hashes.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
IMAGES: Final = ROOT / "docs" / "images"
_TAKEN: Final = IMAGES / "pages.json"

_ARTIFACTS: Final = ("flows/bife_flows/reporting/artifacts.py",)
_FORM: Final = (
    "flows/bife_flows/stages.py", "bife_core/run/settings.py", "bife_core/run/config.py", "bife_core/search/config.py",
)  # fmt: skip
_RUN: Final = ("flows/bife_flows/reporting/conductor.py", "bife_core/run/stages/search.py")
_TRACKED: Final = ("tasks/bife_tasks/tracking/writer.py", "tasks/bife_tasks/tracking/mlflow_runs.py")
_SAMPLES: Final = (*_TRACKED, "bife_core/run/study/files.py")

PAGES: Final[dict[str, tuple[str, ...]]] = {
    "report": (
        "bench/picture.py", "bife_core/run/show/report/templates/report.html.j2",
        "bife_core/run/show/report/templates/report.css", "bife_core/run/show/report/data.py",
        "bife_core/run/show/report/page.py", "bife_core/run/show/report/tables.py",
        "bife_core/run/show/plots/evaluation.py",
    ),
    "prefect-deployments": ("flows/bife_flows/operate/prefect.yaml",),
    "prefect-overview": (*_ARTIFACTS, "tasks/bife_tasks/overview.py"),
    "prefect-form": _FORM,
    "prefect-refused": _FORM,
    "prefect-tasks": (*_RUN, "bife_core/run/study/engine.py"),
    "prefect-run": (*_RUN, *_ARTIFACTS),
    "prefect-population": (*_ARTIFACTS, "bife_core/run/study/files.py"),
    "prefect-anytime": _ARTIFACTS,
    "prefect-conclusion": (*_ARTIFACTS, "bife_core/run/stages/conclusions.py", "bife_core/run/study/files.py"),
    "prefect-approval": ("flows/bife_flows/promotion.py", "bife_core/registry/evidence.py"),
    "mlflow-samples": _SAMPLES,
    "mlflow-search": _TRACKED,
    "mlflow-table": _SAMPLES,
    "mlflow-traces": ("tasks/bife_tasks/tracking/traces.py",),
    "mlflow-model": ("tasks/bife_tasks/registry/mlflow_registry.py", "bife_core/registry/evidence.py"),
}  # fmt: skip
"""The files of which the page of each picture is made."""


def made_of(picture: str) -> dict[str, str]:
    """Return what makes the page of a picture: the hash of each file, and the version of the server."""
    server = picture.partition("-")[0]
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    versions = re.findall(rf"^({server})==(.*)$", pins, flags=re.MULTILINE)
    return {source: _hash(ROOT / source) for source in PAGES[picture]} | dict(versions)


def _hash(source: Path) -> str:
    text = source.read_text(encoding="utf-8")
    if source.suffix == ".py":
        text = ast.dump(ast.parse(text))  # without layout and comments, which show on no page
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def taken(picture: str) -> None:
    """Note that a picture shows its page as it is now."""
    every = _read() | {picture: made_of(picture)}
    _TAKEN.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def outdated() -> Iterator[str]:
    """Yield a sentence for each picture that is older than its page."""
    noted = _read()
    for picture in PAGES:
        then, now = noted.get(picture, {}), made_of(picture)
        changed = [source for source in {**then, **now} if then.get(source) != now.get(source)]
        if changed:
            by = f"make screenshots VIEWS={picture}"
            by = "python -m bench.picture REPORT.html" if picture == "report" else by
            yield f"docs/images/{picture}.png is older than {', '.join(changed)}; retake it by `{by}`."


def _read() -> dict[str, dict[str, str]]:
    return json.loads(_TAKEN.read_text(encoding="utf-8")) if _TAKEN.exists() else {}


if __name__ == "__main__":
    for sentence in outdated():
        print(f"note: {sentence}")
