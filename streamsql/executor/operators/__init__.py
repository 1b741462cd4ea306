"""A file for each operator: the lowering of its plan to a Spark frame."""
