"""The operators of a plan, a module for each."""
