"""The two fidelities a rule is scored at: agreement with the expert (low) and real solves (high)."""
