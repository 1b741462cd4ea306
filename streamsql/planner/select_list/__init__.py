"""What a SELECT lists."""
