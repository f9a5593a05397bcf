"""`bife demo`: the whole pipeline on combinatorial auctions, explained."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from flows.cli import stages
from flows.cli.consoles import duration, show_facts, show_heading, standard_output
from flows.cli.options import with_configuration

if TYPE_CHECKING:
    from bife_core.config import PipelineConfig


@with_configuration("preset", "workers", "settings")
def demo(*, config: PipelineConfig) -> None:
    """Discover a rule for combinatorial auctions in minutes, without a model API; then see what to do next."""
    console = standard_output()
    began_s = time.monotonic()
    result = stages.discover(console, config)
    show_heading(console, "This run")
    show_facts(console, [("took", duration(time.monotonic() - began_s))])
    show_heading(console, "What next")
    alias = "champion" if result.champion else "challenger"
    known = f"models:/{result.registered.name}@{alias}" if result.registered else "pseudocost_product"
    show_facts(console, next_steps(known))
    stages.finish(console, config, result.evaluation, result.evolution)


def next_steps(reference: str) -> list[tuple[str, str]]:
    """Return three things to try with the rule of that reference, each with its command."""
    api = "BIFE_LLM_BASE_URL=... BIFE_LLM_MODEL=... BIFE_LLM_API_KEY=..."
    return [
        ("on your own instances", "bife run --instances DIR"),
        ("in PySCIPOpt", f'import bife_core; bife_core.attach(model, bife_core.load_rule("{reference}"))'),
        ("with a model API", f"{api} bife run --generator openai"),
    ]
