"""What an engine is made of: its parts, its start, and how one engine takes over from another."""
