"""Starts: solutions, or parts of them, that SCIP is given before it solves, and the methods that propose them."""
