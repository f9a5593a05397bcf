"""`bife demo`: the whole pipeline on combinatorial auctions, explained."""

from __future__ import annotations

import time

from flows.cli.consoles import duration, show_facts, show_heading, standard_output
from flows.cli.options import PresetOption, SetOption, WorkersOption, resolve


def demo(preset: PresetOption = "quick", workers: WorkersOption = None, settings: SetOption = None) -> None:
    """Discover a rule for combinatorial auctions in minutes, without a model API; then see what to do next."""
    from flows.cli import stages, summary
    from flows.cli.reuse import Ledger

    console = standard_output()
    config = resolve(preset=preset, workers=workers, settings=settings)
    began_s, ledger = time.monotonic(), Ledger.now()
    result = stages.discover(console, config)
    summary.show_discovery(console, config, result)
    show_heading(console, "This run")
    show_facts(console, [("took", duration(time.monotonic() - began_s)), *ledger.spent(result)])
    show_heading(console, "What next")
    show_facts(console, next_steps(f"{result.registered.name}@challenger" if result.registered else ""))
    if result.evaluation is not None:
        stages.finish(console, config, result.evaluation)


def next_steps(registered: str) -> list[tuple[str, str]]:
    """Return three things to try, each with its command."""
    reference = f"models:/{registered}" if registered else "pseudocost_product"
    api = "BIFE_LLM_BASE_URL=... BIFE_LLM_MODEL=... BIFE_LLM_API_KEY=..."
    return [
        ("on your own models", "bife run --instances DIR"),
        ("in PySCIPOpt", f'import bife_core; bife_core.attach(model, bife_core.load_rule("{reference}"))'),
        ("with a model API", f"{api} bife run --generator openai"),
    ]
