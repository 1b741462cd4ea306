"""What a checkpoint leaves outside its folder, and how it goes: commit tokens, open transactions.

A discarded checkpoint's folder stays until all else that it had is gone. So whatever a crash has
left is found again, and seeing to it twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, cast

from streamsql.config import COMMITS_TOPIC
from streamsql.errors import ExternalError
from streamsql.executor.queries.checkpoint import discarded, erase, id_of, rebuild_note
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.commit_tokens import retire_tokens
from streamsql.places.place import Place

SWEEP_SECONDS = 30.0

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def sweep(folder: Place, client: KafkaClient, spark: SparkSession | None) -> None:
    """Have nothing be left of the discarded checkpoints in a folder. ExternalError where Kafka
    fails, or a file cannot be deleted: what is left then is found the next time."""
    gone = discarded(folder)
    ids = {found for each in gone if (found := id_of(each)) is not None}
    if ids:
        # First whoever might still write is kept from it, if only a process that was stopped.
        abort_transactions(ids, client, spark, SWEEP_SECONDS)
        retire_tokens(client, COMMITS_TOPIC, ids)
    for each in gone:
        note = rebuild_note(each)
        if note is not None and note.topic is not None:
            client.delete_topic(note.topic, missing_ok=True)
        erase(each)


def abort_transactions(
    checkpoints: Collection[str], client: KafkaClient, spark: SparkSession | None, seconds: float
) -> int:
    """Abort what the runs on these checkpoints have left open, however they ended; none of them
    may be running here. How many transactions that were; ExternalError where they are not over
    after so many seconds.

    Until then no reader of committed data sees what comes after them.
    """
    if spark is None or not checkpoints:
        return 0
    from streamsql.executor.spark.failures import JVM_FAILURES

    java = cast(Any, spark)._jvm.io.streamsql.delivery.OpenTransactions
    try:
        return int(java.abort(client.java_settings, list(checkpoints), int(seconds * 1000)))
    except JVM_FAILURES as error:
        raise ExternalError("Kafka does not abort transactions", detail=str(error)) from error
