"""The one resolver of references: from what names a branching method to the method; `load_method` lists them."""

from __future__ import annotations

import difflib
import inspect
import json
import os
import re
import reprlib
import stat
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, cast

from pydantic import TypeAdapter, ValidationError

from bife_core.base.errors import RuleError
from bife_core.base.files import can_be_path
from bife_core.base.values import describe
from bife_core.language.components import BRANCHING, COMPONENTS, Component, component_of
from bife_core.language.rules import REFERENCE_RULES, CompiledRule, Rejection, compile_rule
from bife_core.solver.methods.base import BUILTIN_METHODS, METHODS, RPB, AnyMethod, Method, ScipMethod
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import is_stored, read_stored, registered_tags
from bife_core.solver.methods.scorer import BaseScorer, ComponentRule, RuleMethod, Scorer, Written
from bife_core.solver.scip.branching import Budget
from bife_core.solver.scip.settings import Parameter, of_settings, usual_parameters

AnyReference: TypeAlias = Annotated[
    str | Path | Method | CompiledRule | Callable[..., Any], "see load_method, which says what is none"
]

BUDGET: Final = ",budget="
"""What stands in a reference between a rule and its budget."""

_SETTINGS: Final = re.compile(r"(?:\s|#.*\n)*(?:emphasis[ \t]*:|\w+/[\w/-]+[ \t]*=[^=])")
"""How settings begin that no file of that kind holds, and no Python."""

_OF_A_SOLVE: Final = ("limits/", "timing/", f"branching/{RPB}/priority")
"""Beginnings of parameters that say nothing of how a rule was measured, unless that is recorded."""

_LARGEST: Final = 2**28
"""Bytes of a file that holds a method; networks have millions of weights."""

_FORMS: Final = (
    "a Python file, a JSON file of a method, a settings file of SCIP (.set), a reference rule, a branching rule of "
    "SCIP, the method of a plugin, models:/NAME@ALIAS, models:/NAME/VERSION, runs:/ID or runs:/ID/FILE"
)


def load_method(reference: AnyReference) -> Method:
    """Return the method a reference names.

    Parameters
    ----------
    reference : str, Path, Method, CompiledRule or function
        A Python file of a rule, a JSON file of a method, a settings file of SCIP (.set), the
        name of a reference rule, of a branching rule of SCIP or of a plugin's method, ``models:/NAME@ALIAS`` or
        ``models:/NAME/VERSION`` of the registry, or ``runs:/ID`` of a run in MLflow. After a rule or scorer
        ``,budget=SHARE`` or ``,budget=SHARE,once`` gives RPB a budget (`bife_core.Budget`). A method is returned as it
        is; a compiled rule and a Python function that scores one candidate become methods.

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
    if inspect.isfunction(reference):
        return load_method(cast(AnyReference, compile_rule(reference)))
    if isinstance(reference, Rejection):
        raise RuleError(f"This is no usable rule: {reference.reason}")
    if isinstance(reference, CompiledRule):
        return rule_of(reference.source, reference.component, reference.name)
    if not isinstance(reference, str | Path):
        raise RuleError(
            f"{reference!r} is no method to branch by; expected {_FORMS}, a method, or a function."
        )
    if "\n" in str(reference):
        raise RuleError(
            "The name of a rule or a file was expected and a text of several lines was found; if it is that of a rule, "
            "compile it with bife_core.compile_rule(text)."
        )
    if reference in BUILTIN_METHODS:
        return ScipMethod(name=str(reference))
    if reference in METHODS.foreign:
        return _valid({"kind": reference, "name": reference}, f"{reference} needs more than its name")
    plain, comma, given = str(reference).rpartition(BUDGET)
    if comma and isinstance(reference, str):
        return with_budget(load_method(plain), given)
    method = read_method(reference)
    try:
        branching = method.branching if isinstance(method, Configuration) else method
        if isinstance(branching, Written):
            branching.compiled  # noqa: B018 - compiled once to know that it can be
    except RuleError as error:
        hint = ""
        others = [f"{one.function} ({name})" for name, one in COMPONENTS.items() if one != BRANCHING]
        if others and isinstance(branching, RuleMethod) and BRANCHING.function not in branching.source:
            hint = f" A rule of another component defines {' or '.join(others)}."
        raise RuleError(f"{reference} is not a usable rule: {error}{hint}") from error
    return method


def read_method(reference: str | Path) -> Method:
    """Return the method in a file or a registry as it is written; `load_method` also compiles what is a rule."""
    text, name = _text_and_name(reference)
    settings = str(reference).lower().endswith(".set")
    return Configuration.of_text(text, name) if settings else method_of(text, name)


def budgeted(method: Method, budgets: Iterable[float | str]) -> list[Method]:
    """Return a method with each of some budgets, see `with_budget`; nothing if it takes none."""
    scores = isinstance(method.branching if isinstance(method, Configuration) else method, BaseScorer)
    return [with_budget(method, one) for one in budgets] if scores else []


def with_budget(method: Method, budget: Budget | float | str) -> Method:
    """Return a rule or scorer before which RPB branches within a budget: a share, ``"SHARE"`` or ``"SHARE,once"``.

    In a configuration the budget is that of what branches. A `RuleError` says if that takes none, or it is none.
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
    """Return what branches in a method, a rule or scorer as it was before it got a budget."""
    branching = method.branching if isinstance(method, Configuration) else method
    return branching.model_copy(update={"budget": None}) if isinstance(branching, BaseScorer) else branching


def beside_branching(method: Method) -> str:
    """Return what a method changes of a solve beside branching, as text that is equal where two change the same."""
    if isinstance(method, Configuration):
        return str(method.params or "") + beside_branching(method.branching)
    return "" if isinstance(method, ScipMethod | BaseScorer) else method.identity


def load_rule(reference: AnyReference) -> CompiledRule:
    """Load and compile a rule.

    Parameters
    ----------
    reference : str, Path, Method, CompiledRule or function
        What `load_method` takes, if it stands for a rule with source.

    Raises
    ------
    RuleError
        If there is no such rule, it is not allowed, or it names a method without source or a rule with a budget.
    """
    if isinstance(reference, CompiledRule):
        return reference
    method = rule_method(reference)
    if method.budget is not None:
        raise RuleError(
            f"{method.name} is a rule with a budget, which load_rule would lose; load_method keeps it."
        )
    return method.compiled


def rule_method(reference: AnyReference) -> RuleMethod:
    """Return the method a reference names if it is a rule with source; a `RuleError` says if it is not."""
    method = load_method(reference)
    if not isinstance(method, RuleMethod):
        raise RuleError(
            f"{method.name} is no rule but a method of the kind {method.kind!r}, without source; load_method loads it."
        )
    return method


def as_scoring(reference: AnyReference) -> CompiledRule | Scorer:
    """Return what scores candidates under a reference; a `RuleError` says if it scores none."""
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
    if reference in REFERENCE_RULES:
        return REFERENCE_RULES[reference].source, reference
    if reference.startswith(("models:", "runs:")):
        return stored_text(reference), reference
    if "://" in reference:
        raise RuleError(f"{reference} is a web address; download the file and give its path.")
    path = Path(reference)
    if path.suffix in (".py", ".set") or len(path.parts) > 1 or (reference and os.path.lexists(path)):
        return _read(path), path.stem
    names = [*REFERENCE_RULES, *BUILTIN_METHODS, *METHODS.foreign]
    near = difflib.get_close_matches(reference, names, n=3)
    hint = f"did you mean {' or '.join(near)}" if near else f"registered names are {', '.join(names)}"
    raise RuleError(f"There is no rule {reference!r}: it is no file and no registered name; {hint}.")


def is_json(text: str) -> bool:
    """Whether the text of a method is JSON; no rule begins so."""
    return text.lstrip().startswith("{")


def code_of(text: str) -> str:
    """Return the Python in a text that holds a method: all of it, or the field `source` of its JSON."""
    return str(json.loads(text).get("source", text)) if is_json(text) else text


def rule_of(source: str, component: Component, name: str = "rule") -> Written:
    """Return the method that a source is as a rule of a component, whatever it looks like."""
    return (RuleMethod if component == BRANCHING else ComponentRule)(name=name, source=source)


def method_of(text: str, name: str = "rule") -> Method:
    """Return the method a text holds: one of `Method.text`, so JSON, settings of SCIP or the source of a rule.

    `name` is what it is called if it does not say that itself; a `RuleError` says if JSON holds no method.
    """
    if _SETTINGS.match(text):
        return Configuration.of_text(text, name)
    if not is_json(text):
        return rule_of(text, component_of(text), name)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RuleError(f"{name} is no JSON file of a method: {error}.") from error
    return _valid({"name": name} | data, f"{name} is no method")


def _valid(data: dict[str, object], problem: str) -> Method:
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in METHODS:
        raise RuleError(f"{problem}: 'kind' must be one of {', '.join(METHODS)}.")
    try:
        return TypeAdapter[Method](AnyMethod).validate_python(data)
    except ValidationError as error:
        raise RuleError(f"{problem}: {describe(error)}") from error
    except RecursionError as error:
        raise RuleError(f"{problem}: its parts are nested too deep.") from error


def _read(path: Path) -> str:
    """Return the text of a file; a path may begin with ``~``, and a pipe or a device is not waited for."""
    try:
        about = path.expanduser().stat()
        if not stat.S_ISREG(about.st_mode):
            raise RuleError(f"{path} is no regular file; give a rule's Python file.")
        if about.st_size > _LARGEST:
            raise RuleError(f"{path} has {about.st_size:,} bytes, and no method has more than {_LARGEST:,}.")
        with path.expanduser().open(encoding="utf-8-sig") as file:
            return file.read(about.st_size)
    except FileNotFoundError:
        raise RuleError(f"There is no file {path}; give a rule's Python file.") from None
    except UnicodeDecodeError as error:
        raise RuleError(f"{path} is no text in UTF-8 ({error}); save it as UTF-8.") from error
    except OSError as error:
        raise RuleError(f"{path} cannot be read ({error.strerror}); give a rule's Python file.") from error


def stored_text(reference: str) -> str:
    """Return the text of the method that the registry or a run in MLflow holds; nothing is unpickled.

    A `RuleError` says if it is not there, cannot be read, or has been altered since it was registered.
    """
    if not is_stored(reference):
        raise RuleError(f"{reference!r} names no method; expected {_FORMS}.")
    return unaltered(*read_stored(reference), reference)


def unaltered(text: str, tags: Mapping[str, str], reference: str) -> str:
    """Return the text of a method if it is the one that was registered with these tags, else raise `RuleError`."""
    if tags and (found := method_of(text).identity) != (expected := tags.get("sha", "")):
        raise RuleError(
            f"{reference} has the hash {found} but was registered with {expected}: it has been altered."
        )
    return text


def warn_of_other_settings(reference: object, settings: Callable[[], Mapping[str, Parameter]]) -> None:
    """Warn the caller's caller if a rule was registered under other `settings`, which are asked for it alone."""
    tags = registered_tags(reference)
    if not tags:
        return
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
