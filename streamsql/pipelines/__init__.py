"""Pipeline files compared with the running pipeline, without an engine."""
