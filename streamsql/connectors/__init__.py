"""A Kafka Connect cluster, as its REST API shows it."""
