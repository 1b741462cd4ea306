"""Brings what is outside the engine in line with its statements: the one place where a start, or a
new leader, finishes what a crash has left half-done.

A statement is one entry of the log, and whatever else it does follows from the entry: topics that a
DROP deletes, checkpoints of queries that are no more, the tokens of those, transactions that their
runs have left open. All of it may be done again, and once it is done nothing is left to do.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from streamsql.errors import StreamSQLError
from streamsql.registry.serdes import delete_subjects
from streamsql.runtime.replay import Deletion

if TYPE_CHECKING:
    from streamsql.runtime.state import EngineState

_log = logging.getLogger("streamsql.restore")
_log.addHandler(logging.NullHandler())


def reconcile(state: EngineState) -> None:
    """Finish what earlier lives of the engine, or an earlier leader, have begun. No query runs yet.

    Raises nothing: what cannot be done now is found again at the next start.
    """
    for failure in delete_topics(state):
        _log.warning("%s", failure)
    state.launcher.sweep()
    known = state.queries.known().values()
    state.launcher.broken.abort(query.definition for query in known)


def delete_topics(state: EngineState) -> list[str]:
    """Delete the topics that statements said to delete, with their schemas; what fails, a sentence
    each.

    A topic that has been made anew since is another one, and stays.
    """
    with state.lock:
        due = dict(state.deletions)
    # Without the lock: Kafka and registries may take long to answer.
    return _delete_topics(state, due) if due else []


def _delete_topics(state: EngineState, due: Mapping[str, Deletion]) -> list[str]:
    try:
        kafka = state.services.kafka.get()
        found = kafka.topic_ids(set(due) & set(kafka.topics()))
    except StreamSQLError as error:
        return [f"The topics {', '.join(due)} were not deleted: {error.message}"]
    failures = []
    for topic, deletion in due.items():
        exists = found.get(topic) == deletion.topic_id
        try:
            if exists and state.deletions.get(topic) is deletion:
                # The topic last: while it is there, all is done again.
                delete_subjects(state.schemas().registry, deletion.source)
            with state.lock:
                # A statement that uses the topic again has withdrawn the deletion.
                if state.deletions.get(topic) is deletion:
                    if exists:
                        kafka.delete_topic(topic, missing_ok=True)
                    del state.deletions[topic]
        except StreamSQLError as error:
            failures.append(f"The topic {topic} was not deleted: {error.message}")
    return failures
