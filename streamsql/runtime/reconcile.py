"""Reconciles external state with the statement log. A start, or a new leader, completes the effects
of statements that a crash interrupted.

A statement is one entry of the log, and its other effects follow from it: deleted topics,
checkpoints of ended queries, their commit tokens, and open transactions. All effects are
idempotent.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from streamsql.config import EPOCHS_TOPIC
from streamsql.errors import StreamSQLError
from streamsql.kafka.client import KafkaClient, NewRecord
from streamsql.registry.serdes import delete_subjects
from streamsql.runtime.replay import Deletion

if TYPE_CHECKING:
    from streamsql.runtime.state import EngineState

_log = logging.getLogger("streamsql.restore")
_log.addHandler(logging.NullHandler())


def reconcile(state: EngineState) -> None:
    """Completes the effects of previous runs or leaders, before queries start. Never raises:
    failures are retried at the next start."""
    for failure in delete_topics(state):
        _log.warning("%s", failure)
    state.launcher.sweep()
    known = state.queries.known().values()
    state.launcher.broken.abort(query.definition for query in known)


def delete_topics(state: EngineState) -> list[str]:
    """Deletes the topics of DROP .. DELETE TOPIC and their schemas; returns a message per failure.
    A topic that was recreated has another id, and is kept."""
    with state.lock:
        due = [(t, d) for t, d in state.deletions.items() if t not in state.deleting]
        state.deleting.update(topic for topic, _ in due)
    # Not under the lock, since Kafka and registries can be slow. `deleting` keeps statements from
    # using these topics meanwhile.
    failures = []
    for topic, deletion in due:
        try:
            _delete(state, topic, deletion)
            with state.lock:
                if state.deletions.get(topic) is deletion:
                    del state.deletions[topic]
        except StreamSQLError as error:
            failures.append(f"The topic {topic} was not deleted: {error.message}")
        finally:
            with state.lock:
                state.deleting.remove(topic)
    return failures


def _delete(state: EngineState, topic: str, deletion: Deletion) -> None:
    kafka = state.services.kafka.get()
    # Requested by name: the list of topics omits those that the engine is not authorized to see.
    if kafka.topic_ids([topic]).get(topic) == deletion.topic_id:
        # The topic last: while it exists, the deletion is repeated.
        delete_subjects(state.schemas().registry, deletion.source)
        if deletion.source.is_view:
            _forget_epochs(kafka, topic)
        kafka.delete_topic(topic, missing_ok=True)


def _forget_epochs(kafka: KafkaClient, topic: str) -> None:
    """Later topics of the name have epochs of their own."""
    if kafka.partitions(EPOCHS_TOPIC) is not None:
        key = json.dumps({"topic": topic}, separators=(",", ":"), ensure_ascii=False)
        kafka.produce(EPOCHS_TOPIC, [NewRecord(key.encode(), None)])
