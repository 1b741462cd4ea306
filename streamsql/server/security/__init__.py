"""Who may use the server, for what, and how much."""
