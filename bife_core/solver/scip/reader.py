"""Read an instance file with SCIP; refuse one that is cut off or that SCIP would misread."""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from tempfile import NamedTemporaryFile
from typing import Final, Literal, get_args

from pyscipopt import Model

from bife_core.base.errors import InstanceError
from bife_core.solver.scip import texts
from bife_core.solver.scip.differences import MisreadError, note
from bife_core.solver.scip.libscip import scip_errors

ModelFormat = Literal["mps", "lp", "cip", "opb", "wbo", "nl", "cnf", "fzn", "osil", "pip", "rlp"]

_CHECKS: Final = {
    **{"mps": "text_mps:check_mps", **dict.fromkeys(("lp", "rlp", "pip"), "text_lp:check_lp")},
    **{"fzn": "text_fzn:check_fzn", **dict.fromkeys(("opb", "wbo"), "texts:check_opb")},
    **{name: f"texts:check_{name}" for name in ("cip", "cnf", "osil", "nl")},
}
"""Module and function that check each format, loaded where they are needed."""
CONVERTED: Final = {  # what this SCIP does not read, by the end of a file's name
    ".zpl": "`zimpl -t mps MODEL.zpl` writes it as .mps",
    ".gms": "GAMS writes it as .mps by its solver CONVERT with the option FixedMPS",
    ".mof.json": 'JuMP writes it as .mps by `write_to_file(read_from_file("MODEL.mof.json"), "MODEL.mps")`',
    **dict.fromkeys((".mod", ".dat"), "AMPL writes it as .nl by `model A.mod; data A.dat; write gNAME;`"),
}
_CHECKED: Final[dict[tuple[int, int, int, int, str], set[str]]] = {}
"""Cases of `note` in the files that were checked, so that a large one is checked once."""

# Patterns stay texts until they are used: compiling them all takes longer than to read a model.
_WARNING: Final = r"(?m)^(?:Warning line (\d+)|WARNING): (.*)$"
_COUNT: Final = rb"\*\s*SCIP STATISTICS\s(?:\*.*\s)*?\*\s*Constraints\s*:\s*(\d+)"
"""The number of constraints that SCIP says it wrote."""
_HARMLESS: Final = (
    "if feasible, bounds will be adjusted|not integral|assuming that the vector name|has no entries"
    "|a name for value .* might be missing|a name for a column is missing|Relaxing already defined"
    '|for objective function "N" ignored|empty clause detected|assume a continuous'
)
"""Warnings of SCIP's readers about what changes no model."""


def model_format(path: Path) -> ModelFormat | None:
    """Return the format by a file's name, or None if it is no instance file.

    Examples
    --------
    >>> model_format(Path("lseu.mps.gz")), model_format(Path("P0548.MPS")), model_format(Path("notes.txt"))
    ('mps', 'mps', None)
    """
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return next((name for name in get_args(ModelFormat) if suffix == f".{name}"), None)


def no_instance(path: Path, further: str = "") -> str:
    """Return a sentence on a path that is no instance: how to convert it, or what is expected."""
    expected = "expected a .mps, .lp, .rlp, .cip, .opb, .wbo, .cnf, .fzn, .osil, .pip (or .gz) or .nl file"
    how = next((how for end, how in CONVERTED.items() if path.name.lower().endswith(end)), expected + further)
    return f"{path} is no instance file; {how}."


def read_model(path: Path, notes: list[str] | None = None) -> Model:
    """Read an instance file (`ModelFormat`, gzipped or not) with SCIP's output hidden.

    `notes` gets sentences on what other solvers read otherwise. An `InstanceError` says that the file is missing,
    damaged, or would be misread. The text is checked first: SCIP can crash on an MPS file that is cut among its rows.
    """
    with _refusals(path):
        status = path.stat()
    format_ = model_format(path)
    if format_ is None or not path.is_file():
        raise InstanceError(no_instance(path))
    file = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, format_)
    if checks := file not in _CHECKED:
        with _refusals(path):
            text, cases = _check_text(path, format_)
    model = Model()
    model.hideOutput()
    with NamedTemporaryFile("r", suffix=".log", errors="replace") as log:
        if checks:
            model.setParam("display/verblevel", 5)  # where readers say what they leave out
            model.setLogfile(log.name)
        with scip_errors(f"{path.name} cannot be read as {format_.upper()}", InstanceError) as errors:
            model.readProblem(str(path), format_)
        if checks:
            model.setLogfile(None)
            model.resetParam("display/verblevel")
            with _refusals(path):
                warnings = "\n".join([*map("WARNING: {}".format, errors), log.read()])
                _check_model(format_, model, warnings, text)
            _CHECKED[file] = cases
    if notes is not None:
        notes += sorted(map(note, _CHECKED[file]))
    return model


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    try:
        yield
    except MisreadError as error:
        where = f", line {error.line}:" if error.line else ":" if str(error).startswith("SCIP") else ""
        raise InstanceError(f"{path.name}{where} {error}.") from error
    except FileNotFoundError as error:
        raise InstanceError(f"There is no file {path}.") from error
    except OSError as error:
        raise InstanceError(f"{path} cannot be opened: {error.strerror or error}.") from error


def _check_text(path: Path, format_: ModelFormat) -> tuple[bytes, set[str]]:
    try:
        text = path.read_bytes()
        if format_ == "nl" and not text.startswith(b"g"):
            raise MisreadError("nl.binary")
        # SCIP goes by the content too, so a gzipped file need not be called .gz.
        if text.startswith(b"\x1f\x8b"):
            text = gzip.decompress(text)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise MisreadError("any.packed") from error
    if not text.strip():
        raise MisreadError("any.empty")
    texts.check_whole(text)
    check = resolve_name(f"bife_core.solver.scip.{_CHECKS[format_]}")
    return text, check(text) or set()


def _check_model(format_: ModelFormat, model: Model, log: str, text: bytes) -> None:
    """Refuse a model that lacks something which SCIP's reader or writer left out, or that has bounds without values."""
    for line, warning in re.findall(_WARNING, log):
        from bife_core.solver.scip.text_mps import free_rows

        left_out = re.search(r' for row "(.*)" ignored$', warning)
        if re.search(_HARMLESS, warning) or (left_out and left_out[1].encode() in free_rows(text)):
            continue
        raise MisreadError("any.warning", warning.strip(" ."), line=int(line or 0))
    if count := re.search(_COUNT, text):
        rows = {row.name for row in model.getConss()}  # SCIP writes one with AND as two, the second as `_op`
        missing = int(count[1]) - model.getNConss() + sum(f"{row}_op" in rows for row in rows)
        if missing > 0:
            raise MisreadError("any.counted", count[1].decode(), missing)
    variables = model.getVars()
    if not variables:
        raise MisreadError("any.no_variables")
    polynomials = variables if format_ == "pip" and not re.match(texts.BY_PROGRAM, text) else ()
    if odd := next((each.name for each in polynomials if re.search("[(),/:]", each.name)), None):
        raise MisreadError("lp.functions", odd)
    if model.getNConss() == 0 and not any(variable.getObj() for variable in variables):
        raise MisreadError("any.nothing")
    for variable in variables:
        low, high, kind = variable.getLbOriginal(), variable.getUbOriginal(), variable.vtype()
        least, most = low, high
        if kind != "CONTINUOUS":
            least, most = math.ceil(low - 1e-6), math.floor(high + 1e-6)
        empty = least > most or low >= model.infinity() or high <= -model.infinity()
        if empty or (kind == "BINARY" and not 0 <= least <= most <= 1):
            case = "any.no_value" if empty else "any.beyond_binary"
            case = "mps.upper_negative" if high < low == 0.0 else case
            raise MisreadError(case, kind.lower(), variable.name, low, high)
