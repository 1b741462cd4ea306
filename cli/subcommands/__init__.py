"""A file for each subcommand."""
