"""What a solve costs."""

from __future__ import annotations

from typing import Literal

Cost = Literal["time", "nodes", "lp_iterations", "gap", "primal_dual_integral"]
"""What one solve costs: CPU seconds, nodes, LP iterations, final gap or primal-dual integral; lower is better."""
