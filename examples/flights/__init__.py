"""A year of real flights as a stream."""
