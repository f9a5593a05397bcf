"""SCIP from the inside: find its library, read a model, solve it, let a rule branch, ask strong branching."""
