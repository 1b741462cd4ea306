"""Look-ups: rows of a stream with what is found for them outside of Kafka."""
