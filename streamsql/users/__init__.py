"""Users of a server, for all protocols: accounts, logins, rate limits."""
