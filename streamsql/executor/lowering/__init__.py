"""Lowers a complete plan to a stream, a batch or a compiled plan."""
