"""A whole plan as a stream, a batch or a compiled plan."""
