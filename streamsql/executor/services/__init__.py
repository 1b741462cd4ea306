"""Kafka, Spark and the registry, coming up in the background."""
