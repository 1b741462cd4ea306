"""Statements that define, change and drop what there is."""
