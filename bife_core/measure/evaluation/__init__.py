"""Methods against a baseline on instances they never saw: measured fairly, compared by instance, with a conclusion."""
