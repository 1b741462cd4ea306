"""The right of a service's queries to write, which only its leader extends: see WriteLease.java."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger("streamsql.service")
_log.addHandler(logging.NullHandler())


def lease(service_id: str) -> dict[str, str]:
    """The setting of producers that write under the lease of a service."""
    return {"streamsql.lease": service_id}


def extend(spark: SparkSession, service_id: str, seconds: Callable[[], float]) -> None:
    """Let the queries of a service write for so long; raises nothing: without an extension they
    wait."""
    from streamsql.executor.spark.bridge import Bridge
    from streamsql.executor.spark.failures import JVM_FAILURES

    try:
        Bridge.of(spark).extend_lease(service_id, seconds)
    except JVM_FAILURES as error:
        _log.warning("the lease of the queries was not extended: %s", error)
