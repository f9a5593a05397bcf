"""Resolve references: from the name of a method, a file, or an entry of a registry or tracker, to the method."""

from __future__ import annotations

import difflib
import inspect
import json
import os
import re
import reprlib
import stat
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Final, TypeAlias, cast

from pydantic import ValidationError

from bife_core.base.errors import RuleError
from bife_core.base.files import can_be_path
from bife_core.base.likeness import Likeness
from bife_core.base.plugins import Plugins
from bife_core.base.values import describe
from bife_core.language.components import BRANCHING, COMPONENTS, Component, component_of
from bife_core.language.rules import CompiledRule, Rejection, compile_rule
from bife_core.language.rules.compiling import recompiled
from bife_core.solver.methods.base import BUILTIN_METHODS, METHODS, RPB, Method, ScipMethod
from bife_core.solver.methods.configuration import FILE_NAME, Configuration
from bife_core.solver.methods.scorer import BaseScorer, ComponentRule, RuleMethod, Scorer, Written
from bife_core.solver.scip.branching import Budget
from bife_core.solver.scip.libscip import Model
from bife_core.solver.scip.settings import Parameter, of_settings, usual_parameters
from bife_core.solver.starts.method import STARTS

AnyReference: TypeAlias = Annotated[
    str | Path | Method | CompiledRule | Callable[..., Any], "see load_method, which says what is none"
]

BUDGET: Final = ",budget="

MODEL_REFERENCE: Final = re.compile(
    r"models:/(?P<name>[^/@]+)(?:@(?P<alias>[^/@,]+)|/(?P<version>\d+))(?:,budget=.*)?"
)
RUN_REFERENCE: Final = re.compile(
    r"runs:/(?P<run>[0-9a-f]{32})(?:/(?P<file>[\w.-]+\.(?:py|json|set)))?(?:,budget=.*)?"
)

RUN_FILES: Final = (
    *("best_rule.py", "rule.py", "method.json"),
    *(FILE_NAME, "tuned.set", "tuned_again.set", "tuned_scip.set"),
)
"""Artifacts that hold a method: of a search, of a sample or an evaluation, and of a tuning."""

READERS: Final[Plugins[Callable[[str], tuple[str, dict[str, str]]]]] = Plugins(
    "registry",
    "bife.registries",
    {"store": "bife_core.store.registered:read_store"},
    callable,
    "a function from a reference to text and tags",
)
"""Readers of references; one raises `AbsentError` for what it lacks. The home's store is asked last."""

LISTED: Final = "`bife rules list` shows the registered rules"

_SETTINGS: Final = re.compile(r"(?:\s|#.*\n)*(?:emphasis[ \t]*:|\w+/[\w/-]+[ \t]*=[^=])")
"""Beginning of the text of settings; JSON and Python begin otherwise."""

_OF_A_SOLVE: Final = ("limits/", "timing/", f"branching/{RPB}/priority")
"""Beginnings of parameters that are compared only if they were recorded with a rule."""

_FILES: Final = (".py", ".set", ".json")
"""Ends of names that are those of files."""

_LARGEST: Final = 2**28  # largest file of a method, in bytes; networks have millions of weights

_FORMS: Final = (
    "a Python file, a JSON file of a method, a settings file of SCIP (.set), a reference rule, a branching rule of "
    "SCIP, the method of a plugin, models:/NAME@ALIAS, models:/NAME/VERSION, runs:/ID or runs:/ID/FILE"
)


class AbsentError(RuleError):
    """A registry does not hold what a reference names; without a message, there is no registry of that kind."""


def load_method(reference: AnyReference) -> Method:
    """Return the method a reference names.

    Parameters
    ----------
    reference : str, Path, Method, CompiledRule or function
        A Python file of a rule, a JSON file of a method, a settings file of SCIP (.set); the name of a reference rule,
        of a branching rule of SCIP or of a plugin's method; ``models:/NAME@ALIAS`` or ``models:/NAME/VERSION`` of the
        registry, or ``runs:/ID`` of a tracked run; a method, a compiled rule, or a function that scores one candidate.
        ``,budget=SHARE`` or ``,budget=SHARE,once`` after a rule or scorer gives RPB a `bife_core.Budget`.

    Raises
    ------
    RuleError, ConfigError
        If there is no such method or it cannot be used; if the package that offers it is broken.

    Examples
    --------
    >>> load_method("relpscost").kind, load_method("pseudocost_product").kind
    ('scip', 'rule')
    """
    if isinstance(reference, Method):
        return reference
    if inspect.isfunction(reference):
        return load_method(cast(AnyReference, compile_rule(reference)))
    if isinstance(reference, Rejection):
        raise RuleError(f"This is no usable rule: {reference.reason}")
    if isinstance(reference, CompiledRule):
        return rule_of(reference.source, reference.component, reference.name)
    if not isinstance(reference, str | Path):
        raise RuleError(f"{reference!r} is no method to branch by; give {_FORMS}, a method, or a function.")
    if "\n" in str(reference):
        raise RuleError(
            "The name of a rule or a file was expected and a text of several lines was found; if it is that of a rule, "
            "compile it with bife_core.compile_rule(text)."
        )
    if reference in BUILTIN_METHODS:
        return ScipMethod.model_construct(name=str(reference))
    plain, comma, budget = str(reference).rpartition(BUDGET)
    if comma and isinstance(reference, str):
        return with_budget(load_method(plain), budget)
    method = read_method(reference)
    try:
        branching = method.branching if isinstance(method, Configuration) else method
        if isinstance(branching, Written):
            recompiled(branching.source, branching.name, branching.component, keep=True)
    except RuleError as error:
        hint = ""
        others = [f"{other.function} ({name})" for name, other in COMPONENTS.items() if other != BRANCHING]
        if others and isinstance(branching, RuleMethod) and BRANCHING.function not in branching.source:
            hint = f" A rule of another component defines {' or '.join(others)}."
        raise RuleError(f"{reference} is not a usable rule: {error}{hint}") from error
    return method


def read_method(reference: str | Path) -> Method:
    """Return the method in a file or a registry; `load_method` compiles a rule too."""
    text, name = _text_and_name(reference)
    settings = str(reference).lower().endswith(".set")
    return Configuration.of_text(text, name) if settings else method_of(text, name)


def budgeted(method: Method, budgets: Iterable[float | str]) -> list[Method]:
    """Return a method with each of the budgets (`with_budget`); nothing if it takes none."""
    scores = isinstance(method.branching if isinstance(method, Configuration) else method, BaseScorer)
    return [with_budget(method, budget) for budget in budgets] if scores else []


def with_budget(method: Method, budget: Budget | float | str) -> Method:
    """Return a method with a budget for RPB: a share, ``"SHARE"`` or ``"SHARE,once"``.

    A configuration passes it to its branching method. A `RuleError` says that a method takes none, or that it is none.
    """
    if isinstance(method, Configuration):
        return method.model_copy(update={"branching": with_budget(method.branching, budget)})
    if not isinstance(method, BaseScorer):
        raise RuleError(f"{method.name} takes no budget; only a rule or a scorer does.")
    if not isinstance(budget, Budget):
        share, _, once = str(budget).partition(",")
        try:
            budget = Budget.model_validate({"share": share, "returns": {"": True, "once": False}.get(once)})
        except ValidationError as error:
            raise RuleError(
                f"A budget is a share between 0 and 1, such as 0.7 or 0.7,once; found {budget}."
            ) from error
    name = method.name.partition(BUDGET)[0]
    return method.model_copy(update={"name": f"{name}{BUDGET}{budget}", "budget": budget})


def branching_of(method: Method) -> Method:
    """Return the branching method in a method, without its budget."""
    branching = method.branching if isinstance(method, Configuration) else method
    return branching.model_copy(update={"budget": None}) if isinstance(branching, BaseScorer) else branching


def parts_of(method: Method) -> tuple[Method, ...]:
    """Return what searches may have found in a method: itself, what branches without its budget, its start."""
    start = method.start if isinstance(method, Configuration) else None
    alone = () if start is None else (Configuration(name=start.name, start=start),)
    return (method, branching_of(method), *alone)


def beside_branching(method: Method) -> str:
    """Return a text of what a method changes beside branching, the same for the same changes."""
    if isinstance(method, Configuration):
        return method.changes + beside_branching(method.branching)
    return "" if isinstance(method, ScipMethod | BaseScorer) else method.identity


def load_rule(reference: AnyReference) -> CompiledRule:
    """Load and compile the rule that a reference of `load_method` names.

    A `RuleError` says that there is no such rule, that it is not allowed, has no source, or has a budget.
    """
    if isinstance(reference, CompiledRule):
        return reference
    method = rule_method(reference)
    if method.budget is not None:
        raise RuleError(f"{method.name} has a budget, which load_rule would lose; load_method keeps it.")
    return method.compiled


def rule_method(reference: AnyReference) -> RuleMethod:
    """Return the rule a reference names; a `RuleError` says that the method has no source."""
    method = load_method(reference)
    if not isinstance(method, RuleMethod):
        raise RuleError(
            f"{method.name} is no rule but a method of the kind {method.kind!r}, without source; load_method loads it."
        )
    return method


def as_scoring(reference: AnyReference) -> CompiledRule | Scorer:
    """Return the rule or scorer a reference names; a `RuleError` says that it scores no candidates."""
    if isinstance(reference, CompiledRule):
        return reference
    method = load_method(reference)
    if not isinstance(method, Scorer):
        raise RuleError(f"{method.name} scores no candidates; give a rule or a scorer.")
    return method


def _text_and_name(reference: str | Path) -> tuple[str, str]:
    if not can_be_path(reference):
        raise RuleError(f"There is no rule {reprlib.repr(str(reference))}: no file can be called so.")
    if isinstance(reference, Path):
        return _read(reference), reference.stem
    if reference.startswith(("models:", "runs:")):
        return stored_text(reference), reference
    if "://" in reference:
        raise RuleError(f"{reference} is a web address; download the file and give its path.")
    path = Path(reference)
    if path.suffix in _FILES or len(path.parts) > 1:
        return _read(path), path.stem
    from bife_core.language.rules import REFERENCE_RULES  # they take longer to read than a rule

    if reference in REFERENCE_RULES:
        return REFERENCE_RULES[reference].source, reference
    if reference in METHODS.foreign:
        return json.dumps({"kind": reference}), reference
    if reference and os.path.lexists(path):
        return _read(path), path.stem
    names = [*REFERENCE_RULES, *BUILTIN_METHODS, *METHODS.foreign]
    near = difflib.get_close_matches(reference, names, n=3)
    hint = f"did you mean {' or '.join(near)}" if near else f"registered names are {', '.join(names)}"
    raise RuleError(f"There is no rule {reference!r}: it is no file and no registered name; {hint}.")


def is_json(text: str) -> bool:
    """Whether the text of a method is JSON."""
    return text.lstrip().startswith("{")


def code_of(text: str) -> str:
    """Return the Python in the text of a method: all of it, the field `source` of its JSON, or its start's."""
    if not is_json(text):
        return text
    data = json.loads(text)
    start = data.get("start")
    if isinstance(start, str) and start in STARTS:
        return inspect.getsource(sys.modules[STARTS.find(start).__module__])
    return str(data.get("source") or (start or {}).get("source") or text)


def rule_of(source: str, component: Component, name: str = "rule") -> Method:
    """Return a source as a rule of a component, or as the method that the component makes of it."""
    if component.method:
        made: Method = resolve_name(component.method)(source, name)
        return made
    kind = RuleMethod if component == BRANCHING else ComponentRule
    return kind.model_construct(name=name, source=source)


def method_of(text: str, name: str = "rule") -> Method:
    """Return the method of a `Method.text`: JSON, settings of SCIP or the source of a rule.

    `name` is used if the text has none. A `RuleError` says that JSON holds no method.
    """
    if _SETTINGS.match(text):
        return Configuration.of_text(text, name)
    if not is_json(text):
        return rule_of(text, component_of(text), name)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RuleError(f"{name} is no JSON file of a method: {error}.") from error
    problem, kind = f"{name} is no method", data.get("kind")
    if not isinstance(kind, str) or kind not in METHODS:
        raise RuleError(f"{problem}: 'kind' must be one of {', '.join(METHODS)}.")
    if data == {"kind": name}:
        problem = f"{name} needs more than its name"
    try:
        return METHODS.find(kind).model_validate({"name": name} | data)
    except ValidationError as error:
        raise RuleError(f"{problem}: {describe(error)}") from error
    except RecursionError as error:
        raise RuleError(f"{problem}: its parts are nested too deep.") from error


def _read(path: Path) -> str:
    """Return the text of a regular file; a path may begin with ``~``."""
    try:
        status = path.expanduser().stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would be waited for
            raise RuleError(f"{path} is no regular file; give a rule's Python file.")
        if status.st_size > _LARGEST:
            raise RuleError(f"{path} has {status.st_size:,} bytes, and no method has more than {_LARGEST:,}.")
        with path.expanduser().open(encoding="utf-8-sig") as file:
            return file.read(status.st_size)
    except FileNotFoundError:
        raise RuleError(f"There is no file {path}; give the path of a rule or configuration.") from None
    except UnicodeDecodeError as error:
        raise RuleError(f"{path} is no text in UTF-8 ({error}); save it as UTF-8.") from error
    except OSError as error:
        raise RuleError(f"{path} cannot be read ({error.strerror}); give a rule's Python file.") from error


def stored_text(reference: str) -> str:
    """Return the text of the method in the registry or a tracked run; nothing is unpickled.

    A `RuleError` says that it does not exist, cannot be read, or has been altered since it was registered.
    """
    if not is_stored(reference):
        raise RuleError(f"{reference!r} names no method; expected {_FORMS}.")
    return unaltered(*read_stored(reference), reference)


def is_stored(reference: object) -> bool:
    """Whether a reference has the form of one to a registry or a run."""
    return isinstance(reference, str) and any(
        form.fullmatch(reference) for form in (MODEL_REFERENCE, RUN_REFERENCE)
    )


def read_stored(reference: str) -> tuple[str, dict[str, str]]:
    """Return the text of a reference that `is_stored` and the tags it was registered with, or raise `RuleError`."""
    reasons = list[str]()
    for name in (*READERS.foreign, *READERS.builtin):
        try:
            return READERS.find(name)(reference)
        except AbsentError as error:
            reasons += filter(None, [str(error)])
    raise RuleError(reasons[0])


def registered_tags(reference: object) -> dict[str, str]:
    """Return the tags of a registered version; none for other references."""
    return read_stored(str(reference))[1] if is_stored(reference) else {}


def unaltered(text: str, tags: Mapping[str, str], reference: str) -> str:
    """Return the text of a method if its hash is that of its tags, else raise `RuleError`."""
    if tags and (sha := method_of(text).identity) != (tag := tags.get("sha", "")):
        raise RuleError(f"{reference} has the hash {sha} but was registered with {tag}: it has been altered.")
    return text


def warn_of_others(
    reference: object, settings: Callable[[], Mapping[str, Parameter]], model: Model | None = None
) -> None:
    """Warn the caller's caller if a registered method was measured under other settings; only then are they read.

    Or on models of other sizes than a `model` that is not empty: counts alone are compared, which takes no time
    (`Registry.rule_for` compares forms too).
    """
    tags = registered_tags(reference)
    if not tags:
        return
    if model is not None and model.getNVars() and (likeness := tags.get("likeness")):
        counts = {"variables": float(model.getNVars()), "constraints": float(model.getNConss())}
        if difference := Likeness.model_validate_json(likeness).difference(counts, counts):
            other = f"{reference} was measured on other instances ({difference}); it may be slow here."
            warnings.warn(other, stacklevel=4)
    if not tags.get("solver_params"):
        warnings.warn(f"{reference}: the settings it was measured under were not recorded.", stacklevel=4)
        return
    usual, measured = usual_parameters(), of_settings(json.loads(tags["solver_params"]))
    present = {
        name: value
        for name, value in {**usual, **of_settings(settings())}.items()
        if name in measured or not (value == usual[name] or name.startswith(_OF_A_SOLVE))
    }
    if differing := sorted(dict(present.items() ^ measured.items())):
        others = (
            f"{name} is {present.get(name)} and was {measured.get(name, usual.get(name))}"
            for name in differing[:3]
        )
        more = f" and {len(differing) - 3} more differ" if len(differing) > 3 else ""
        warnings.warn(
            f"{reference} was measured under {tags.get('solver')}; here {', '.join(others)}{more}.",
            stacklevel=4,
        )
