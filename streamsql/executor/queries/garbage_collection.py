"""Deletes what a checkpoint leaves outside its folder: commit tokens, open transactions.

A discarded checkpoint's folder stays until all of that is deleted, so that it is found again after
a crash. Each step is idempotent.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from streamsql.config import COMMITS_TOPIC
from streamsql.errors import ExternalError, StreamSQLError
from streamsql.executor.queries.checkpoint import (
    RebuildNote,
    discarded,
    erase,
    id_of,
    rebuild_note,
)
from streamsql.executor.queries.definition import Definition
from streamsql.executor.services.services import Services
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.commit_tokens import retire_tokens
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.storage.location import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger("streamsql.queries")
_log.addHandler(logging.NullHandler())
SWEEP_SECONDS = 30.0
ABORT_SECONDS = 5.0
"""How long a start waits for transactions of earlier runs that no task waits for."""


class BrokenRuns:
    """The open transactions of runs that did not stop in order.

    They hide later records, the commit tokens of all queries included, for as long as a transaction
    may last: of a micro-batch, a quarter of an hour.
    """

    def __init__(self, services: Services, checkpoints: Location) -> None:
        self._services = services
        self._checkpoints = checkpoints
        self._broken: dict[str, Definition] = {}
        self._lock = threading.Lock()

    def add(self, query: Definition) -> None:
        """A run of the query has failed, or its JVM died. Does not wait."""
        self._broken[query.id] = query

    def settle(self) -> None:
        """Before a query starts: abort the open transactions of runs that have failed since, none
        of which has started again. Raises nothing: see `abort`."""
        with self._lock:
            # Each of them starts after this, not while it is fenced.
            if broken := [self._broken.pop(name) for name in list(self._broken)]:
                self.abort(broken)

    def abort(self, queries: Iterable[Definition]) -> None:
        """Abort the open transactions of these queries, none of which runs here. Raises nothing:
        the broker aborts the rest after a while."""
        once = (q for q in queries if q.plan.guarantee is Guarantee.EXACTLY_ONCE)
        spark = self._services.current_spark()
        try:
            ids = {i for q in once if (i := id_of(self._checkpoints / q.id)) is not None}
            found = abort_transactions(ids, self._services.kafka.get(), spark, ABORT_SECONDS)
        except StreamSQLError as error:
            _log.warning("transactions of earlier runs may still be open: %s", error.message)
            return
        if found:
            _log.info("aborted %d transactions of a run that has ended", found)


def sweep(folder: Location, client: KafkaClient, spark: SparkSession | None) -> None:
    """Delete all that belongs to the discarded checkpoints in a folder. ExternalError if Kafka
    fails or a file cannot be deleted: the next call continues."""
    gone = _readable(discarded(folder))
    ids = {found for found, _ in gone.values() if found is not None}
    if ids:
        # First fence what might still write, such as a process that was stopped.
        abort_transactions(ids, client, spark, SWEEP_SECONDS)
        retire_tokens(client, COMMITS_TOPIC, ids)
    for each, (_, note) in gone.items():
        if note is not None and note.topic is not None:
            client.delete_topic(note.topic, missing_ok=True)
        erase(each)


def _readable(gone: Iterable[Location]) -> dict[Location, tuple[str | None, RebuildNote | None]]:
    """The id and the rebuild note of each checkpoint of which both are known. The others stay:
    their transactions, tokens and topics could not be found without them."""
    found = {}
    for each in gone:
        try:
            found[each] = id_of(each), rebuild_note(each)
        except ExternalError as error:
            _log.warning(
                "the remains %s of a checkpoint cannot be deleted now: %s", each, error.message
            )
    return found


def abort_transactions(
    checkpoints: Collection[str], client: KafkaClient, spark: SparkSession | None, seconds: float
) -> int:
    """Abort the open transactions of the runs on these checkpoints, none of which may be running
    here. Returns their number; ExternalError if they are not over after this number of seconds.

    Until then consumers of committed data see nothing after them.
    """
    if spark is None or not checkpoints:
        return 0
    from streamsql.executor.spark.bridge import Bridge
    from streamsql.executor.spark.failures import JVM_FAILURES

    try:
        return Bridge.of(spark).abort_transactions(client.java_settings, checkpoints, seconds)
    except JVM_FAILURES as error:
        raise ExternalError("Kafka does not abort transactions", detail=str(error)) from error
