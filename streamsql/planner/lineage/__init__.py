"""Column lineage of expressions, plans and catalogs."""
