"""Schema registries: a client for Confluent's HTTP interface, and an embedded registry."""
