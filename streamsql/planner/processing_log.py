"""The stream KSQL_PROCESSING_LOG: failed records and their reasons."""

from __future__ import annotations

from functools import cache

from streamsql.catalog import Catalog
from streamsql.config import PROCESSING_LOG_TOPIC
from streamsql.nodes import Statement
from streamsql.parser import parse
from streamsql.planner.recorded_topics import RememberedTopics
from streamsql.planner.statements import apply, plan

STREAM = "KSQL_PROCESSING_LOG"

_STATEMENT = f"""
CREATE STREAM {STREAM} (
  logger STRING,
  level STRING,
  time BIGINT,
  message STRUCT<
    type INT,
    deserializationError STRUCT<
      target STRING, errorMessage STRING, recordB64 STRING, cause ARRAY<STRING>, `TOPIC` STRING>,
    recordProcessingError STRUCT<errorMessage STRING, record STRING, cause ARRAY<STRING>>,
    productionError STRUCT<errorMessage STRING>,
    serializationError STRUCT<
      target STRING, errorMessage STRING, record STRING, cause ARRAY<STRING>, `TOPIC` STRING>,
    dataLoss STRUCT<errorMessage STRING, records BIGINT>,
    lateRow STRUCT<errorMessage STRING, rowTime BIGINT, lateMs BIGINT>>,
  queryId STRING,
  `TOPIC` STRING,
  `PARTITION` INT,
  offset BIGINT
) WITH (KAFKA_TOPIC = '{PROCESSING_LOG_TOPIC}', VALUE_FORMAT = 'JSON');
"""


@cache
def _statement() -> Statement:
    (statement,) = parse(_STATEMENT)
    return statement


def declare(catalog: Catalog) -> None:
    planned = plan(_statement(), catalog, {}, RememberedTopics({PROCESSING_LOG_TOPIC: (1, 1)}))
    apply(planned, catalog)
