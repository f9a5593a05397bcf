"""SCIP's settings and what branches under them, found together for a family of instances."""
