"""From a statement to a logical plan."""
