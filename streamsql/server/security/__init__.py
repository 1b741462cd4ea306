"""Authentication, authorization and rate limits."""
