"""What a flow says while it runs: to observers, on Prefect's pages and event feed, and whose process it is."""
