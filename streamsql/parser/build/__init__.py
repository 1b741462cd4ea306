"""From parse trees to nodes."""
