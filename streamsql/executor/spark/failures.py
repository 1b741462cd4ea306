"""Exceptions of calls into the JVM, for callers that expect its exit or an error of Spark."""

from __future__ import annotations

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from streamsql.errors import ExternalError, InternalError, StreamSQLError

JVM_FAILURES = (Py4JError, OSError)
"""Errors of a call, or of a JVM that has exited (the connection breaks)."""

SPARK_FAILURES = (PySparkException, *JVM_FAILURES)
"""The same for calls through PySpark, which converts some of Spark's errors."""


def rejected(error: Exception) -> StreamSQLError:
    """The error of a rejected plan: an internal error if Spark is running."""
    if isinstance(error, (OSError, Py4JNetworkError)):
        return ExternalError("Spark does not answer", retryable=True, detail=str(error))
    return InternalError("Spark rejects the plan of the query", detail=str(error))
