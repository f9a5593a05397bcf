"""Inequalities that are written from the formulation, proven, and given to SCIP before it solves."""
