"""The life of running queries: start, supervision, stop."""
