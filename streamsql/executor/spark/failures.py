"""Exceptions of calls into the JVM, for callers that expect its exit or an error of Spark."""

from __future__ import annotations

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from streamsql.errors import EvaluationError, ExternalError, InternalError, StreamSQLError

JVM_FAILURES = (Py4JError, OSError)
"""Errors of a call, or of a JVM that has exited (the connection breaks)."""

SPARK_FAILURES = (PySparkException, *JVM_FAILURES)
"""The same for calls through PySpark, which converts some of Spark's errors."""


_MESSAGES = {
    "DIVIDE_BY_ZERO": "division by zero",
    "REMAINDER_BY_ZERO": "division by zero",
    "ARITHMETIC_OVERFLOW": "value out of range",
    "BINARY_ARITHMETIC_OVERFLOW": "value out of range",
    "CAST_OVERFLOW": "value out of range",
    "NUMERIC_VALUE_OUT_OF_RANGE": "value out of range",
}
"""PostgreSQL's messages by Spark's conditions."""


def without_value(error: Exception) -> EvaluationError | None:
    """The error of an expression that has no value; None for other failures."""
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    parameters = error.getMessageParameters() or {} if isinstance(error, PySparkException) else {}
    match (condition or "").split("."):
        case ["USER_RAISED_EXCEPTION"]:
            return EvaluationError(parameters["errorMessage"])
        case ["CAST_INVALID_INPUT"]:
            text = parameters["expression"].strip("'")
            target = parameters["targetType"].strip('"').lower()
            return EvaluationError(f'invalid input syntax for type {target}: "{text}"')
        case [name, *_] if name in _MESSAGES:
            return EvaluationError(_MESSAGES[name])
    return None


def rejected(error: Exception) -> StreamSQLError:
    """The error of a rejected plan: an internal error if Spark is running."""
    if isinstance(error, (OSError, Py4JNetworkError)):
        return ExternalError("Spark does not answer", retryable=True, detail=str(error))
    return without_value(error) or InternalError(
        "Spark rejects the plan of the query", detail=str(error)
    )
