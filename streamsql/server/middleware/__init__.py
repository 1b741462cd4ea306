"""What stands before every endpoint."""
