"""SCIP from the inside: its library, features at native speed, branching, the expert, and one solve."""
