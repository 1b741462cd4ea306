"""Everything that touches the world: Kafka, Spark, the data folder."""
