"""`bife demo`: the whole pipeline on combinatorial auctions, explained."""

from __future__ import annotations

import time

from flows.cli.consoles import duration, standard_output
from flows.cli.options import PresetOption, SetOption, WorkersOption, resolve


def demo(preset: PresetOption = "quick", workers: WorkersOption = None, settings: SetOption = None) -> None:
    """Discover a rule for combinatorial auctions in minutes, without a model API; then see what to do next."""
    from flows.cli import stages, summary
    from flows.cli.reuse import Ledger

    console = standard_output()
    config = resolve(preset=preset, workers=workers, settings=settings)
    began_s, ledger = time.monotonic(), Ledger.now()
    result = stages.discover(console, config)
    console.print()
    summary.print_discovery(console, config, result)
    console.print(summary.heading("This run"))
    console.print(summary.facts([("took", duration(time.monotonic() - began_s)), *ledger.spent(result)]))
    console.print(summary.heading("What next"))
    console.print(
        summary.facts(next_steps(f"{result.registered.name}@challenger" if result.registered else ""))
    )
    if result.evaluation is not None:
        stages.finish(console, config, result.evaluation)


def next_steps(registered: str) -> list[tuple[str, str]]:
    """Return three things to try, each with its command."""
    reference = f"models:/{registered}" if registered else "pseudocost_product"
    return [
        ("your own models", "bife run --instances DIR"),
        ("in PySCIPOpt", f'import bife_core; bife_core.attach(model, bife_core.load_rule("{reference}"))'),
        (
            "a model API",
            "BIFE_LLM_BASE_URL=... BIFE_LLM_MODEL=... BIFE_LLM_API_KEY=... bife run --generator openai",
        ),
    ]
