"""Nexmark: queries over an auction house, each in a file of SQL."""
