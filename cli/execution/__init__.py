"""Running statements: on an engine here or elsewhere."""
