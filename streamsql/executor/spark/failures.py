"""Exceptions of calls into the JVM, for callers that expect its exit or an error of Spark."""

from __future__ import annotations

from collections.abc import Iterator

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import convert_exception

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
    found = (_of_condition(each) for each in _spark_errors(error))
    return next((each for each in found if each is not None), None)


def _spark_errors(error: Exception) -> Iterator[PySparkException]:
    """The error, or, where it was thrown while rows were fetched, its causes in Java."""
    if isinstance(error, PySparkException):
        yield error
    cause = error.java_exception if isinstance(error, Py4JJavaError) else None
    while cause is not None:
        yield convert_exception(cause)
        cause = cause.getCause()


def _of_condition(error: PySparkException) -> EvaluationError | None:
    parameters = error.getMessageParameters() or {}
    match (error.getCondition() or "").split("."):
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
