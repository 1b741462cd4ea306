"""Kafka: the client, records as bytes, security, and the embedded broker."""
