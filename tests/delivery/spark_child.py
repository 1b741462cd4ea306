"""Spark's own sink for Kafka in an engine's place, which has no delivery but at least once:
`python -m delivery.spark_child FOLDER BOOTSTRAP SQL`.

Writes what the projection of shapes.py does; what is in SQL is not looked at. Says `ready` and
lives until it is ended; if its Spark was killed it continues from its checkpoint.
"""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from streamsql.errors import ExternalError
from streamsql.executor.spark.session import SparkRuntime
from streamsql.kafka.client import KafkaClient

LOOK_SECONDS = 0.2


def main(folder: str, bootstrap: str, _script: str) -> None:
    """Runs until SIGTERM."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    KafkaClient(bootstrap).create_topic("PICKED", 2, -1, {}, exists_ok=True)
    runtime = SparkRuntime(Path(folder) / "spark", heap="1g")
    query = projection(runtime.session, bootstrap, Path(folder) / "checkpoint")
    print("ready", flush=True)
    while not ended.wait(LOOK_SECONDS):
        # Whatever ended the query, the next check starts it again, as an engine would.
        with suppress(Py4JError, PySparkException, ExternalError, ConnectionError):
            if not runtime.is_running or not query.isActive:
                query = projection(runtime.session, bootstrap, Path(folder) / "checkpoint")
    runtime.close()


def projection(spark: SparkSession, bootstrap: str, checkpoint: Path) -> StreamingQuery:
    """`SELECT k, id, v FROM events WHERE v % 10 < 9`, from topic to topic, in micro-batches."""
    events = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", "events")
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr("key", "from_json(string(value), 'id BIGINT, v BIGINT') AS row")
    )
    picked = events.where("row.v % 10 < 9")
    rows = picked.selectExpr("key", "to_json(named_struct('ID', row.id, 'V', row.v)) AS value")
    return (
        rows.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", "PICKED")
        .option("checkpointLocation", str(checkpoint))
        .start()
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
