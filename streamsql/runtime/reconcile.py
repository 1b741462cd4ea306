"""Brings what is outside the engine in line with its statements: the one place where a start, or a
new leader, finishes what a crash has left half-done.

A statement is one entry of the log, and whatever else it does follows from the entry: topics that a
DROP deletes, checkpoints of queries that are no more, the tokens of those, transactions that their
runs have left open. All of it may be done again, and once it is done nothing is left to do.
"""

from __future__ import annotations

import logging
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
        due = [(t, d) for t, d in state.deletions.items() if t not in state.deleting]
        state.deleting.update(topic for topic, _ in due)
    # Without the lock: Kafka and registries may take long to answer. `deleting` keeps statements
    # from using these topics meanwhile.
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
    # Asked by its name: the list of topics leaves out those that the engine may not see.
    if kafka.topic_ids([topic]).get(topic) == deletion.topic_id:
        # The topic last: while it is there, all is done again.
        delete_subjects(state.schemas().registry, deletion.source)
        kafka.delete_topic(topic, missing_ok=True)
