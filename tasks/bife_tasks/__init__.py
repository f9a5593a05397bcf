"""All that knows MLflow, and what it has of a home."""
