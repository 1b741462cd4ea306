"""Batch runs of persistent queries' plans, next to the queries."""
