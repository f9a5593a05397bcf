"""One run from a configuration to a registered rule: its stages, the study behind a search, and its settings."""
