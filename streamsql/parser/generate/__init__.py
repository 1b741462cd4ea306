"""From nodes back to canonical SQL."""
