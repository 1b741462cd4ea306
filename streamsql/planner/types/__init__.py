"""Types of expressions."""
