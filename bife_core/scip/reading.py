"""Read an instance file with SCIP, after making sure that it is whole and read as it was written."""

from __future__ import annotations

import gzip
import math
import re
import zlib
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, Literal, get_args

from pyscipopt import Model

from bife_core.errors import InstanceError
from bife_core.scip.libscip import scip_errors
from bife_core.scip.text_lp import check_lp
from bife_core.scip.text_mps import check_mps
from bife_core.scip.texts import MisreadError, check_cip, check_encoding, check_opb

ModelFormat = Literal["mps", "lp", "cip", "opb"]

EXPECTED_FILES: Final = "a .mps, .lp, .cip or .opb file, plain or gzipped (.gz)"

_GZIP_MAGIC: Final = b"\x1f\x8b"
_CHECKS: Final = {"mps": check_mps, "lp": check_lp, "cip": check_cip, "opb": check_opb}
_CHECKED: Final[set[tuple[int, int, int, int, str]]] = set()
"""Files as they were when they were checked: a large one that is solved again is not gone through again."""

_SAID: Final = re.compile(r"(?m)^(?:Warning line (\d+)|WARNING): (.*)$")
_SECOND_OBJECTIVE: Final = re.compile(r'row "(.*)" for objective function "N" ignored')
_HARMLESS: Final = re.compile(
    "if feasible, bounds will be adjusted|not integral|assuming that the vector name|has no entries"
    "|a name for value .* might be missing|a name for a column is missing|Relaxing already defined"
    '|for objective function "N" ignored'
)
"""Of what SCIP's readers warn of, what changes no model."""


def model_format(path: Path) -> ModelFormat | None:
    """Return the format a file's name promises, or None if it is no instance file.

    Examples
    --------
    >>> model_format(Path("lseu.mps.gz")), model_format(Path("P0548.MPS")), model_format(Path("notes.txt"))
    ('mps', 'mps', None)
    """
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return next((known for known in get_args(ModelFormat) if suffix == f".{known}"), None)


def read_model(path: Path) -> Model:
    """Read an instance file (`EXPECTED_FILES`) with SCIP's output hidden; it can be given parameters and solved.

    An `InstanceError` is raised if the file is missing, damaged, or one of which SCIP would make another model than was
    written. Its text is gone through before: an MPS file cut among its rows can bring the process down.
    """
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise InstanceError(f"There is no file {path}.") from error
    except OSError as error:
        raise InstanceError(f"{path} cannot be opened: {error.strerror or error}.") from error
    format_ = model_format(path)
    if format_ is None or not path.is_file():
        raise InstanceError(f"{path} is no instance file; expected {EXPECTED_FILES}.")
    file = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, format_)
    if checks := file not in _CHECKED:
        _check_text(path, format_)
    model = Model()
    model.hideOutput()
    with NamedTemporaryFile("r", suffix=".log", errors="replace") as log:
        if checks:
            model.setParam("display/verblevel", 5)  # where readers say what they leave out
            model.setLogfile(log.name)
        with scip_errors(f"{path.name} cannot be read as {format_.upper()}", InstanceError):
            model.readProblem(str(path), format_)
        if checks:
            model.setLogfile(None)
            model.resetParam("display/verblevel")
            _check_model(path.name, model, log.read())
            _CHECKED.add(file)
    return model


def _check_text(path: Path, format_: ModelFormat) -> None:
    try:
        text = path.read_bytes()
        # SCIP goes by the content too, so a gzipped file need not be called .gz.
        if text.startswith(_GZIP_MAGIC):
            text = gzip.decompress(text)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InstanceError(f"{path.name} cannot be decompressed: it is cut off or damaged.") from error
    except OSError as error:
        raise InstanceError(f"{path} cannot be opened: {error.strerror or error}.") from error
    if not text.strip():
        raise InstanceError(f"{path.name} is empty.")
    try:
        check_encoding(text)
        _CHECKS[format_](text)
    except MisreadError as error:
        where = f", line {error.line}:" if error.line else ""
        raise InstanceError(f"{path.name}{where} {error}.") from error


def _check_model(name: str, model: Model, log: str) -> None:
    """Refuse a model of which SCIP's reader left something out, or that no solution can have."""
    others = set(_SECOND_OBJECTIVE.findall(log))
    for line, said in _SAID.findall(log):
        left_out = re.search(r' for row "(.*)" ignored$', said)
        if _HARMLESS.search(said) or (left_out and left_out[1] in others):
            continue
        where = f"{name}, line {line}" if line else name
        raise InstanceError(f"{where}: SCIP would read another model ({said.strip(' .')}); correct it.")
    variables = model.getVars()
    if not variables:
        raise InstanceError(f"{name} describes no variables.")
    if model.getNConss() == 0 and not any(variable.getObj() for variable in variables):
        raise InstanceError(f"{name} describes neither a row nor an objective.")
    for variable in variables:
        low, high, kind = variable.getLbOriginal(), variable.getUbOriginal(), variable.vtype()
        least, most = (
            (low, high) if kind == "CONTINUOUS" else (math.ceil(low - 1e-6), math.floor(high + 1e-6))
        )
        if least > most or (kind == "BINARY" and not 0 <= least <= most <= 1):
            raise InstanceError(
                f"{name} bounds the {kind.lower()} {variable.name!r} to [{low:g}, {high:g}], where it has no value; "
                "correct it (a negative upper bound needs a lower one, LO or MI in MPS)."
            )
