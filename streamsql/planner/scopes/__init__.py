"""What a name means."""
