"""The embedded Kafka Connect worker, and its plugins."""
