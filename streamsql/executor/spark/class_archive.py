"""Spark's classes, parsed and verified once: a class data sharing archive halves the start's work.

`python -m streamsql.executor.spark.class_archive` makes it, which takes about half a minute; a
session uses it if it is there. It lies in the cache folder and holds for one Java and one class
path.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamsql.executor.spark.class_path import archive_path, java_and_class_path
from streamsql.executor.spark.session import SparkRuntime
from streamsql.jvm.cache import exclusive
from streamsql.waiting import await_condition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TRAINING_SECONDS = 60.0


def ensure_class_archive() -> Path:
    """The archive, made if it is missing; ExternalError where Spark does not start."""
    path = archive_path(*java_and_class_path())
    with exclusive(path.parent / ".lock"):
        if not path.is_file():
            for outdated in path.parent.glob("*.jsa"):
                outdated.unlink()
            with tempfile.TemporaryDirectory(prefix=".training-", dir=path.parent) as folder:
                written = Path(folder) / "archive.jsa"
                runtime = SparkRuntime(Path(folder), master="local[4]", archive_to=written)
                try:
                    _train(runtime.start(), Path(folder))
                finally:
                    runtime.stop()
                if written.is_file():
                    os.replace(written, path)
    return path


def _train(spark: SparkSession, folder: Path) -> None:
    """Load what queries load: a stateful stream and Kafka's clients."""
    rows = spark.readStream.format("rate").option("rowsPerSecond", "100").load()
    query = (
        rows.selectExpr("to_json(struct(value)) AS json", "value % 7 AS k")
        .selectExpr("from_json(json, 'value BIGINT') AS v", "k")
        .groupBy("k")
        .agg({"v.value": "max", "*": "count"})
        .writeStream.format("noop")
        .outputMode("update")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    await_condition(
        lambda: not query.isActive or len(query.recentProgress) >= 3, _TRAINING_SECONDS, every=0.1
    )
    query.stop()
    jvm: Any = spark._jvm
    settings = jvm.java.util.HashMap()
    settings.put("bootstrap.servers", "127.0.0.1:1")
    codecs = jvm.org.apache.kafka.common.serialization
    reader, writer = codecs.ByteArrayDeserializer, codecs.ByteArraySerializer
    jvm.org.apache.kafka.clients.consumer.KafkaConsumer(settings, reader(), reader()).close()
    jvm.org.apache.kafka.clients.producer.KafkaProducer(settings, writer(), writer()).close()


if __name__ == "__main__":
    ensure_class_archive()
