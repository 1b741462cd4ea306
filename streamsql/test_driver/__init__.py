"""Runs pipelines for tests on a real broker and Spark without the engine: a test decides which
records a query sees together.

`testing`, which does not know SQL and Spark, uses a `Pipeline` as data, a `PipelineRun` of it in a
`Fixture` (Kafka and Spark of all runs), an `AssertingRun` for statements with assertions, their
errors, and the JSON encoding of records (`json_values`).
"""
