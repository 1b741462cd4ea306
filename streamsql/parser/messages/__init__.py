"""What a syntax error says, and what would have been right."""
