"""The one resolver of references: from what names a branching method to the method, for every caller.

`attach`, `solve`, `compare`, `low_fidelity`, `load_rule`, `load_method`, `export_c` and the command line all take the
same references; `load_method` lists them.
"""

from __future__ import annotations

import difflib
import inspect
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from pydantic import TypeAdapter, ValidationError

from bife_core.errors import RuleError
from bife_core.methods.base import METHODS, AnyMethod, Method, ScipMethod
from bife_core.methods.rule import RuleMethod
from bife_core.methods.scorer import Scorer
from bife_core.places import home
from bife_core.rules import REFERENCE_RULES, CompiledRule, Rejection, compile_rule
from bife_core.scip.builtin import BUILTIN_METHODS
from bife_core.scip.python_branching import Scoring
from bife_core.values import describe

AnyReference: TypeAlias = str | Path | Method | CompiledRule | Callable[..., Any]
"""What stands for a branching method; see `load_method`."""

MODEL_REFERENCE: Final = re.compile(r"models:/(?P<name>[^/@]+)(?:@(?P<alias>[^/@]+)|/(?P<version>\d+))")
RUN_REFERENCE: Final = re.compile(r"runs:/(?P<run>[0-9a-f]{32})(?:/(?P<file>[\w.-]+\.(?:py|json)))?")

RUN_FILES: Final = ("best_rule.py", "rule.py", "method.json")
"""Artifacts of a run that hold a method: of an evolution, and of a sample or an evaluation."""

# Two letters at least: a single one before a colon is a drive.
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_FORMS: Final = (
    "a Python file, a JSON file of a method, a reference rule, a branching rule of SCIP, the method of a plugin, "
    "models:/NAME@ALIAS, models:/NAME/VERSION or runs:/ID"
)


def load_method(reference: AnyReference) -> Method:
    """Return the method a reference names.

    Parameters
    ----------
    reference : str, Path, Method, CompiledRule or function
        A Python file of a rule, a JSON file of a method, the name of a reference rule, of a branching rule of SCIP
        or of a plugin's method, ``models:/NAME@ALIAS`` or ``models:/NAME/VERSION`` of MLflow's registry, or
        ``runs:/ID`` of one of its runs. A method is returned as it is; a compiled rule and a Python function that
        scores one candidate become methods.

    Raises
    ------
    RuleError
        If there is no such method, or it cannot be used.
    ConfigError
        If the package that offers it is broken.

    Examples
    --------
    >>> load_method("relpscost").kind, load_method("pseudocost_product").kind
    ('scip', 'rule')
    """
    if isinstance(reference, Method):
        return reference
    if isinstance(reference, CompiledRule):
        return RuleMethod(name=reference.name, source=reference.source)
    if isinstance(reference, str):
        if reference in BUILTIN_METHODS:
            return ScipMethod(name=reference)
        if reference in METHODS.foreign:
            return _valid(
                {"kind": reference, "name": reference}, f"The method {reference!r} needs more than its name"
            )
    name, text = rule_source(reference)
    method = method_of(text, name)
    if isinstance(method, RuleMethod):
        try:
            method.compiled  # noqa: B018 - compiled once to know that it can be
        except RuleError as error:
            shown = reference if isinstance(reference, str | Path) else name
            raise RuleError(f"{shown} is not a usable rule: {error}") from error
    return method


def load_rule(reference: AnyReference) -> CompiledRule:
    """Load and compile a rule.

    Parameters
    ----------
    reference : str, Path, Method, CompiledRule or function
        What `load_method` takes, if it stands for a rule with source.

    Raises
    ------
    RuleError
        If there is no such rule, or it is not allowed, or the reference names a method without source.

    Examples
    --------
    >>> load_rule("pseudocost_product").name
    'pseudocost_product'
    """
    if isinstance(reference, CompiledRule):
        return reference
    method = load_method(reference)
    if not isinstance(method, RuleMethod):
        raise RuleError(
            f"{_named(reference)} is no rule but a method of the kind {method.kind!r}, without source; "
            "load_method loads it."
        )
    return method.compiled


def as_scoring(reference: object) -> Scoring:
    """Return what scores candidates under a reference: a compiled rule, or another scorer.

    Raises
    ------
    RuleError
        If there is no such method, or it scores no candidates.
    """
    if isinstance(reference, CompiledRule):
        return reference
    if not isinstance(reference, Method) and all(
        hasattr(reference, name) for name in ("name", "features", "address", "score")
    ):
        return cast(Scoring, reference)
    method = load_method(cast(AnyReference, reference))
    if isinstance(method, RuleMethod):
        return method.compiled
    if not isinstance(method, Scorer):
        raise RuleError(
            f"{method.name} scores no candidates, as a method of the kind {method.kind!r}; give a rule or a scorer."
        )
    return method


def rule_source(reference: AnyReference) -> tuple[str, str]:
    """Return name and text of what a reference means, without compiling it.

    Raises
    ------
    RuleError
        If nothing is found under the reference.
    """
    if isinstance(reference, CompiledRule | RuleMethod):
        return reference.name, reference.source
    if isinstance(reference, Rejection):
        raise RuleError(f"This is no usable rule: {reference.reason}")
    if isinstance(reference, Path):
        return reference.stem, _read(reference)
    if inspect.isfunction(reference):
        rule = compile_rule(reference)
        if isinstance(rule, Rejection):
            raise RuleError(f"{reference.__name__} is not a usable rule: {rule.reason}")
        return rule.name, rule.source
    if not isinstance(reference, str):
        raise RuleError(
            f"{reference!r} is no method to branch by; expected {_FORMS}, a method, or a function."
        )
    if reference in REFERENCE_RULES:
        return reference, REFERENCE_RULES[reference].source
    if reference in BUILTIN_METHODS:
        raise RuleError(
            f"{reference} is no rule but a method of the kind 'scip', without source; load_method loads it."
        )
    if "\n" in reference or reference.lstrip().startswith("def "):
        raise RuleError(
            "This is the source of a rule, not a reference; compile it by bife_core.compile_rule."
        )
    if reference.startswith(("models:", "runs:")):
        return reference, stored_text(reference)
    if _SCHEME.match(reference):
        raise RuleError(f"{reference!r} names no method; expected {_FORMS}.")
    path = Path(reference)
    if path.suffix == ".py" or len(path.parts) > 1 or (reference and path.exists()):
        return path.stem, _read(path)
    names = [*REFERENCE_RULES, *BUILTIN_METHODS, *METHODS.foreign]
    near = difflib.get_close_matches(reference, names, n=3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise RuleError(
        f"There is no rule {reference!r}: it is no file and no registered name; {hint}"
        f"Registered names are {', '.join(names)}."
    )


def method_of(text: str, name: str = "rule") -> Method:
    """Return the method a text holds: one of `Method.text`, so JSON or the source of a rule.

    Parameters
    ----------
    name : str
        What it is called if it does not say that itself.

    Raises
    ------
    RuleError
        If JSON holds no method.
    """
    if not text.lstrip().startswith("{"):  # as no rule does
        return RuleMethod(name=name, source=text)
    try:
        data = json.loads(text)
    except ValueError as error:
        raise RuleError(f"{name} is no JSON file of a method: {error}.") from error
    return _valid({"name": name} | data, f"{name} is no method")


def stored_text(reference: str) -> str:
    """Return the text of the method that MLflow's registry or one of its runs holds; nothing is unpickled.

    Parameters
    ----------
    reference : str
        ``models:/NAME@ALIAS``, ``models:/NAME/VERSION``, ``runs:/ID`` or ``runs:/ID/FILE.py``.

    Raises
    ------
    RuleError
        If MLflow is not installed or cannot be reached, there is no such method, or its text has been altered.
    """
    model, run = MODEL_REFERENCE.fullmatch(reference), RUN_REFERENCE.fullmatch(reference)
    if model is None and run is None:
        if reference.startswith("runs:"):
            raise RuleError(
                f"{reference!r} names no rule of a run; expected runs:/RUN_ID or runs:/RUN_ID/FILE.py."
            )
        raise RuleError(
            f"{reference!r} names no registered rule; expected models:/<name>@<alias> or "
            "models:/<name>/<version>."
        )
    try:
        # The one import of MLflow in bife_core: attach(model, "models:/...") must work in a user's own program, where
        # the package `tasks` may be theirs. It is imported only once such a reference is read.
        import mlflow
        from mlflow.exceptions import MlflowException
    except ImportError as error:
        raise RuleError(
            f"{reference} is read by MLflow, which is not installed; run pip install 'bife-branching[operate]'."
        ) from error

    from sqlalchemy.exc import SQLAlchemyError

    with _mlflow_settings():
        address = mlflow.get_tracking_uri()
        database = Path(address.removeprefix("sqlite:///"))
        if address.startswith("sqlite:///") and not database.exists():
            raise RuleError(
                f"The registry holds no {reference}: MLflow's database {database} does not exist yet."
            )
        client = mlflow.MlflowClient()
        try:
            if model is not None:
                name, alias = model["name"], model["alias"]
                version = (
                    client.get_model_version_by_alias(name, alias)
                    if alias
                    else client.get_model_version(name, model["version"])
                )
                file = version.tags.get("file", "rule.py")
                where = f"models:/{version.name}/{version.version}/artifacts/{file}"
                text = str(mlflow.artifacts.load_text(where))
                found, expected = method_of(text).identity, version.tags.get("sha")
                if found != expected:
                    raise RuleError(
                        f"{reference} has the hash {found} but was registered with {expected}: it has been altered."
                    )
                return text
            assert run is not None
            wanted = (run["file"],) if run["file"] else RUN_FILES
            held = {entry.path for entry in client.list_artifacts(run["run"])}
            for file in wanted:
                if file in held:
                    return str(mlflow.artifacts.load_text(f"runs:/{run['run']}/{file}"))
        except MlflowException as error:
            if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                what = (
                    f"The registry holds no {reference}; `bife rules list` shows what it holds."
                    if run is None
                    else f"MLflow at {address} holds no run {run['run']}."
                )
                raise RuleError(what) from error
            raise _unreachable(address, error) from error
        except (SQLAlchemyError, OSError) as error:
            raise _unreachable(address, error) from error
    raise RuleError(f"The run {run['run']} holds no {' or '.join(wanted)}; give an evolution or a sample.")


def _unreachable(address: str, error: Exception) -> RuleError:
    reason = str(error).strip().partition("\n")[0]
    return RuleError(f"MLflow at {address} cannot be read ({reason}); check MLFLOW_TRACKING_URI.")


@contextmanager
def _mlflow_settings() -> Iterator[None]:
    """Give MLflow the settings of BiFE's home inside, where the environment has none."""
    from dotenv import dotenv_values  # MLflow brings it

    given = {"MLFLOW_TRACKING_URI": f"sqlite:///{home() / 'mlflow' / 'mlflow.db'}"}
    for folder in (home(), Path.cwd()):
        given |= {key: value for key, value in dotenv_values(folder / "mlflow.env").items() if value}
    added = {key: value for key, value in given.items() if not os.environ.get(key)}
    os.environ.update(added)
    try:
        yield
    finally:
        for key in added:
            os.environ.pop(key, None)


def _named(reference: AnyReference) -> str:
    return (
        str(getattr(reference, "name", reference))
        if not isinstance(reference, str | Path)
        else str(reference)
    )


_METHOD: Final[TypeAdapter[Method]] = TypeAdapter(AnyMethod)


def _valid(data: dict[str, object], problem: str) -> Method:
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in METHODS:
        raise RuleError(f"{problem}: 'kind' must be one of {', '.join(METHODS)}.")
    try:
        return _METHOD.validate_python(data)
    except ValidationError as error:
        raise RuleError(f"{problem}: {describe(error)}") from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise RuleError(f"There is no file {path}; give a rule's Python file.") from None
    except UnicodeDecodeError:
        raise RuleError(f"{path} is not UTF-8 text; a rule is a Python file.") from None
    except OSError as error:
        raise RuleError(f"{path} cannot be read: {error.strerror or error}.") from error
