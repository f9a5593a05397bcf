"""The stages of a run as plain functions: configuration and `Runtime` in, a value out; they go on where they ended."""
