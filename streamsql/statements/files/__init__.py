"""Files of statements that are run as a whole, and again."""
