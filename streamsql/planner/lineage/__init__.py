"""Which columns a column comes from: of an expression, of a plan, of all that a catalog holds."""
