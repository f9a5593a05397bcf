"""The section `tune` of the configuration."""

from __future__ import annotations

from pydantic import Field

from bife_core.base.values import Value


class TuneConfig(Value):
    """How SCIP's settings are found, together with the rule."""

    seconds: float = Field(
        600.0,
        ge=0,
        allow_inf_nan=False,
        description="CPU seconds of solves in which SCIP's settings are tuned, beside those of the default ones: half "
        "before rules are searched for, with the methods at hand, and half around the rules found; 0 leaves the "
        "settings as `solver` has them.",
    )
    instances: int = Field(16, ge=1, description="Design instances to tune on.")
    groups: tuple[str, ...] = Field(
        (),
        description="Groups of the table of settings (docs/how-to/configuration.md) that are tuned; empty: all.",
    )
    fixed: tuple[str, ...] = Field(
        (),
        description="Parameters of SCIP that stay as `solver` has them; what it sets itself stays in any case.",
    )
    without_rule: float = Field(
        1.0,
        ge=0,
        allow_inf_nan=False,
        description="How long SCIP is tuned without any rule, to compare what was found with: a share of `seconds`; 0 "
        "leaves it out.",
    )
    ablation: float = Field(
        0.4, ge=0, allow_inf_nan=False, description="Share of `seconds` to measure what each group brought."
    )
