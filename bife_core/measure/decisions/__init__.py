"""Strong-branching decisions: how they are recorded, and the file they lie in."""
