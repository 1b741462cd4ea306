"""Topics as text."""

from __future__ import annotations

from collections.abc import Sequence

from streamsql.catalog import Source
from streamsql.schema import Constraint, FormatSpec, KeyWindow, Topic
from streamsql.types import quote


def topic_text(source: Source) -> str:
    """A source's topic, formats, window and time column."""
    topic = source.topic
    parts = [f"topic {topic.name}", f"key {_format(topic.key_format)}{_key_window(topic)}"]
    parts.append(f"value {_format(topic.value_format)}")
    if topic.partitions is not None:
        parts.append(f"{topic.partitions} partition{'' if topic.partitions == 1 else 's'}")
    if source.timestamp is not None:
        pattern = f" in {source.timestamp.format}" if source.timestamp.format else ""
        parts.append(f"time from {quote(source.timestamp.name)}{pattern}")
    return ", ".join(parts)


def _format(spec: FormatSpec) -> str:
    options = ", ".join(f"{name} {value!r}" for name, value in sorted(spec.properties.items()))
    return f"{spec.name} ({options})" if options else spec.name


def _key_window(topic: Topic) -> str:
    return f" windowed by {key_window_text(topic.window)}" if topic.window else ""


def key_window_text(window: KeyWindow) -> str:
    """`TUMBLING 60000 ms`, `SESSION`."""
    size = f" {window.size_ms} ms" if window.size_ms is not None else ""
    return window.type.value + size


def expected_text(constraints: Sequence[Constraint]) -> str:
    return f", {'; '.join(map(str, constraints))}" if constraints else ""
