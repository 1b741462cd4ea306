"""What the HTTP servers of ours have in common: how they listen, and what they take of browsers."""
