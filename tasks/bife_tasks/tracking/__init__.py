"""All that writes to MLflow: a subscriber of the store, which keeps what cost time or money."""
