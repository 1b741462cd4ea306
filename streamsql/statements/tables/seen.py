"""Read your writes: the offsets that later queries of a session wait for, as its token."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from streamsql.properties import CONSISTENCY_TOKEN
from streamsql.runtime.state import Context
from streamsql.session import Session
from streamsql.tokens import from_token, merged, to_token

Ends = Mapping[int, int]


def remember(session: Session, ends: Mapping[str, Ends]) -> None:
    """Later queries of the session see the topics up to these offsets at least."""
    known = session.properties.get(CONSISTENCY_TOKEN)
    session.properties[CONSISTENCY_TOKEN] = merged(known, to_token(ends))


def forget(session: Session, topics: Iterable[str]) -> None:
    """The topics are deleted: offsets of new ones of their names begin again."""
    known = session.properties.pop(CONSISTENCY_TOKEN, None)
    gone = set(topics)
    left = {t: ends for t, ends in from_token(known).items() if t not in gone} if known else {}
    if left:
        session.properties[CONSISTENCY_TOKEN] = to_token(left)


def up_to_date(context: Context, topic: str) -> Context:
    """The context, in which queries see all of a topic: also what other sessions wrote."""
    ends = context.state.services.kafka.get().end_offsets(topic)
    session = replace(context.session, properties=dict(context.session.properties))
    session.properties[CONSISTENCY_TOKEN] = to_token({topic: ends})
    return replace(context, session=session)
