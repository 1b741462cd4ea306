"""From typed expressions to Spark columns."""
