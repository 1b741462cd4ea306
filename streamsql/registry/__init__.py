"""Schema registries: a client for any that speaks Confluent's HTTP interface, and one of our own
beside the embedded broker."""
