"""Drives pipelines for tests, past the engine: on a real broker and Spark, but told when to process
what, so that a test decides which records a query sees together.

It stands beside the engine's API. `testing`, which knows nothing of SQL and Spark, takes from here
a `Pipeline` as data, a `PipelineRun` of it in a `Fixture` (the Kafka and Spark of all runs), an
`AssertingRun` where the statements say themselves what must come out, the errors of these, and the
JSON that records are written in (`json_values`). All else serves them.
"""
