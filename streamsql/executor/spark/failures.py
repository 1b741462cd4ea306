"""What calls into the JVM raise, for those who expect its end or Spark's refusal."""

from __future__ import annotations

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from streamsql.errors import ExternalError, InternalError, StreamSQLError

JVM_FAILURES = (Py4JError, OSError)
"""Errors of a call, or of a JVM that has exited (the connection breaks)."""

SPARK_FAILURES = (PySparkException, *JVM_FAILURES)
"""The same of calls through PySpark, which turns some of Spark's errors into its own."""


def rejected(error: Exception) -> StreamSQLError:
    """What it means that a plan could not be handed to Spark: ours is the fault if Spark is there
    to reject it."""
    if isinstance(error, (OSError, Py4JNetworkError)):
        return ExternalError("Spark does not answer", retryable=True, detail=str(error))
    return InternalError("Spark rejects the plan of the query", detail=str(error))
