"""What an engine is made of, how it comes back after a restart, and how one takes over from another."""
