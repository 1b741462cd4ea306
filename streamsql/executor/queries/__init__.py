"""Running queries: how they start, are kept running, and stop."""
