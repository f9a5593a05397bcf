"""Inequalities that are written from the formulation, proven, and given to SCIP before it solves."""

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["knapsack"]
"""What is written: facets of knapsacks."""
