"""Options of the command line."""
