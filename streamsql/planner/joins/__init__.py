"""What joins are made of, and which are possible."""
