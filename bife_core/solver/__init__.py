"""SCIP and what branches in it: reading, solving, branching methods, and the machine they run on."""
