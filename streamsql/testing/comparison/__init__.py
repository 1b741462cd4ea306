"""When what was found is what was expected."""
