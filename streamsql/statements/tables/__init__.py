"""Plain tables: statements that change their rows."""
