"""What is measured: solves, decisions of strong branching, the fidelities, the race, and evaluations."""
