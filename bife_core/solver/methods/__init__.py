"""What is compared: SCIP's own branching rules, rules by source, and scorers with weights."""
