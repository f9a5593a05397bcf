"""Methods against a baseline on instances they never saw: measured fairly, compared by instance, put in a sentence."""
