"""Tests of pipelines as data, run by the test driver and judged: of SQL it knows nothing."""
