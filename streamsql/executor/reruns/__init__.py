"""Plans of persistent queries run as batches, beside the queries themselves."""
