"""From a SELECT to its logical plan."""
