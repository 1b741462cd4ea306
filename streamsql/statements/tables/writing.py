"""Transactions: of one statement, or from BEGIN to COMMIT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamsql.kafka.records import NewRecord
from streamsql.properties import IMPLICIT_FLUSH, get_bool
from streamsql.results import Message
from streamsql.runtime.state import Context
from streamsql.statements.tables.flush import await_queries
from streamsql.statements.tables.seen import remember
from streamsql.tokens import to_token


def write(context: Context, records: Mapping[str, Sequence[NewRecord]], count: int) -> Message:
    """Writes the records of a statement, now or, in a transaction, when it commits. Queries of the
    session see them from then on."""
    waiting = context.session.transaction
    if waiting is None:
        token = _written(records, context)
        if get_bool(context.session.properties, IMPLICIT_FLUSH):
            await_queries(context)
        return Message("", token=token, count=count)
    for topic, rows in records.items():
        waiting.setdefault(topic, []).extend(rows)
    return Message("", count=count)


def commit(context: Context) -> None:
    """Writes what has waited, and ends the transaction. ExternalError if Kafka fails: nothing was
    written."""
    waiting, context.session.transaction = context.session.transaction, None
    if waiting:
        write(context, waiting, 0)


def _written(records: Mapping[str, Sequence[NewRecord]], context: Context) -> str | None:
    """The token of the records; None if there are none."""
    records = {topic: rows for topic, rows in records.items() if rows}
    if not records:
        return None
    client = context.state.services.kafka.get()
    if sum(map(len, records.values())) == 1:
        ends = {topic: client.insert(topic, rows) for topic, rows in records.items()}
    else:
        ends = client.write_together(records)
    remember(context.session, ends)
    return to_token(ends)
