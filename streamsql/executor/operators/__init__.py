"""A file for each operator: from its plan to a Spark frame."""
