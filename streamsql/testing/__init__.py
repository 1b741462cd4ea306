"""Tests of pipelines as data: statements, input records and the records that must come out."""
