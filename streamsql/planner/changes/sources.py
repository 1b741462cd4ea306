"""Classifies a change of a stream's or table's definition: its columns, its topic."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from streamsql.catalog import Source
from streamsql.nodes import Statement
from streamsql.planner.changes.classes import Change, ChangeClass, Difference
from streamsql.planner.changes.columns import Upgrade, other_columns, upgrade
from streamsql.planner.operators import lookup_facts
from streamsql.planner.operators.topics import key_window_text
from streamsql.schema import Column, KeyWindow, Topic

_WRITTEN = "existing records have the old definition: they are rewritten"


def as_known(new: Source, old: Source, statement: Statement) -> Source:
    """The new source, with the existing topic's partitions and retention if it does not specify
    them."""
    given = {p.name for p in getattr(statement, "properties", ())}
    partitions = new.topic.partitions if "PARTITIONS" in given else old.topic.partitions
    retention = new.topic.retention_ms if "RETENTION_MS" in given else old.topic.retention_ms
    topic = replace(new.topic, partitions=partitions, retention_ms=retention)
    return replace(new, topic=topic)


def compare_sources(
    old: Source, new: Source, users: Collection[str] = (), in_the_way: str | None = None
) -> Change:
    """The change of a stream or table; `users` are the queries and views that use it, `in_the_way`
    is why a topic that a query fills cannot get more partitions."""
    return Change((*_differences(old, new, users), *_partitions(old, new, in_the_way)))


def _differences(old: Source, new: Source, users: Collection[str]) -> Iterator[Difference]:
    if old.kind is not new.kind:
        text = f"a {old.kind.value.lower()}, now a {new.kind.value.lower()}"
        effect = "events cannot become upserts: choose another name"
        yield Difference(ChangeClass.REFUSED, "kind", text, effect)
        return
    if old.lookup or new.lookup:
        yield from _lookups(old, new)
        return
    if old.capture != new.capture:
        was, now = (s.capture.place if s.capture else "none" for s in (old, new))
        effect = "DROP it and create it again with another KAFKA_TOPIC"
        yield Difference(ChangeClass.REFUSED, "CONNECTION", f"{was}, now {now}", effect)
    yield from _keys(old, new, users)
    readable = upgrade(old, new)
    if readable is None or (readable.changes and users):
        yield from _values(old, new)
    else:
        yield from _upgraded(readable)
    yield from _topics(old.topic, new.topic)
    yield from _times(old, new)
    yield from _constraints(old, new)
    if old.is_source != new.is_source:
        text = "read-only now" if new.is_source else "no longer read-only"
        effect = "DROP it and create it again: its topic stays"
        yield Difference(ChangeClass.REFUSED, "SOURCE", text, effect)
    if old.comment != new.comment and new.comment is not None:
        yield Difference(ChangeClass.SETTINGS, "COMMENT", f"'{new.comment}'", "nothing else")


def _lookups(old: Source, new: Source) -> Iterator[Difference]:
    effect = (
        "running queries keep its old definition: DROP it and the queries that join it, and "
        "create them again"
    )
    was, now = (_place(source) for source in (old, new))
    if was != now:
        yield Difference(ChangeClass.REBUILD, "CONNECTION", f"{was}, now {now}", effect)
    if old.schema != new.schema:
        text = f"{_listed(old.schema.columns)}, now {_listed(new.schema.columns)}"
        yield Difference(ChangeClass.REBUILD, "columns", text, effect)
    if old.comment != new.comment and new.comment is not None:
        yield Difference(ChangeClass.SETTINGS, "COMMENT", f"'{new.comment}'", "nothing else")


def _place(source: Source) -> str:
    if source.lookup is None:
        return f"topic {source.topic.name}"
    return ", ".join(text for text in lookup_facts(source.lookup).values() if text)


def _keys(old: Source, new: Source, users: Collection[str]) -> Iterator[Difference]:
    was, now = old.schema.key, new.schema.key
    if was == now:
        return
    text = f"{_listed(was)}, now {_listed(now)}"
    if users:
        effect = f"used by {', '.join(sorted(users))}: drop those first"
        yield Difference(ChangeClass.REFUSED, "key", text, effect)
    else:
        yield Difference(ChangeClass.REBUILD, "key", text, _WRITTEN)


def _upgraded(readable: Upgrade) -> Iterator[Difference]:
    for change in readable.changes:
        yield Difference(ChangeClass.IN_PLACE, "columns", str(change), change.effect)
    if readable.added:
        yield _added(readable.added)


def _added(columns: Collection[Column]) -> Difference:
    effect = "null in existing records"
    return Difference(ChangeClass.SETTINGS, "columns", f"{_listed(columns)} added", effect)


def _values(old: Source, new: Source) -> Iterator[Difference]:
    was, now = other_columns(old), other_columns(new)
    names = {column.name for column in now}
    known = {column.name: column for column in was}
    for column in was:
        if column.name not in names:
            yield _column(f"{column} dropped")
    for column in now:
        before = known.get(column.name)
        if before is not None and before != column:
            yield _column(f"{before}, now {column}")
    kept = [column.name for column in was if column.name in names]
    added = [column for column in now if column.name not in known]
    if [column.name for column in now if column.name in known] != kept:
        yield _column(f"in another order: {', '.join(column.name for column in now)}")
    elif added and [column.name for column in now[: len(kept)]] != kept:
        yield _column(f"{_listed(added)} added between others")
    elif added:
        yield _added(added)


def _column(text: str) -> Difference:
    return Difference(ChangeClass.REBUILD, "columns", text, _WRITTEN)


def _topics(old: Topic, new: Topic) -> Iterator[Difference]:
    if old.name != new.name:
        text = f"{old.name}, now {new.name}"
        yield Difference(ChangeClass.REBUILD, "topic", text, "the new topic is filled from the log")
        return
    for name in ("key_format", "value_format", "window"):
        was, now = getattr(old, name), getattr(new, name)
        if was != now:
            text = f"{_format(was)}, now {_format(now)}"
            yield Difference(ChangeClass.REBUILD, name.replace("_", " "), text, _WRITTEN)


def _partitions(old: Source, new: Source, in_the_way: str | None) -> Iterator[Difference]:
    was, now = old.topic.partitions, new.topic.partitions
    if old.topic.name != new.topic.name or old.lookup or new.lookup or old.kind is not new.kind:
        return
    if was is None or now is None or was == now:
        return
    text = f"{was}, now {now}"
    if now < was:
        effect = "Kafka cannot remove partitions: choose another topic"
        yield Difference(ChangeClass.REFUSED, "partitions", text, effect)
    elif old.created_by_query is None:
        effect = "keys and their state move to other partitions"
        yield Difference(ChangeClass.STATE, "partitions", text, effect)
    elif in_the_way is None:
        yield Difference(ChangeClass.IN_PLACE, "partitions", text, _ADDED)
    else:
        yield Difference(ChangeClass.REFUSED, "partitions", text, in_the_way)


_ADDED = "new records may be in another partition than earlier records of their key"


def _times(old: Source, new: Source) -> Iterator[Difference]:
    if old.timestamp != new.timestamp:
        was, now = (source.timestamp for source in (old, new))
        text = f"{was.name if was else 'none'}, now {now.name if now else 'none'}"
        effect = "applies to records read or written from now on"
        yield Difference(ChangeClass.IN_PLACE, "TIMESTAMP", text, effect)
    if old.topic.retention_ms != new.topic.retention_ms and new.topic.retention_ms is not None:
        text = f"{old.topic.retention_ms} ms, now {new.topic.retention_ms} ms"
        yield Difference(ChangeClass.SETTINGS, "RETENTION_MS", text, "the topic keeps its setting")


def _constraints(old: Source, new: Source) -> Iterator[Difference]:
    """Their effect on a query that reads or writes the source is a change of the query."""
    effect = "applies to records read from now on"
    was, now = ({c.name: str(c) for c in source.expected_of_reads} for source in (old, new))
    for name in dict.fromkeys((*was, *now)):
        if was.get(name) != now.get(name):
            before, after = was.get(name), now.get(name)
            text = f"{before}, now {after}"
            if before is None or after is None:
                text = f"{after} added" if after else f"{before} dropped"
            yield Difference(ChangeClass.IN_PLACE, "CONSTRAINT", text, effect)
    if was == now and list(was) != list(now):
        text = f"in another order: {', '.join(now)}"
        yield Difference(ChangeClass.IN_PLACE, "CONSTRAINT", text, effect)


def _format(value: object) -> str:
    if isinstance(value, KeyWindow):
        return key_window_text(value)
    name = getattr(value, "name", None)
    if name is None:
        return "none"
    options = getattr(value, "properties", {})
    shown = ", ".join(f"{key} '{text}'" for key, text in sorted(options.items()))
    return f"{name} ({shown})" if shown else str(name)


def _listed(columns: Collection[Column]) -> str:
    return ", ".join(map(str, columns)) or "none"
