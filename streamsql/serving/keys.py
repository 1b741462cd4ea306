"""Values of key columns as the bytes that a store is asked for, and when they can be known.

A key can be looked up where equal keys have equal bytes: always in the KAFKA format; in JSON and
DELIMITED where our own query has written the topic. Else all rows are looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from streamsql.catalog import Source
from streamsql.planner.plans.routes import KeyRange, WindowRange
from streamsql.results import Value
from streamsql.types import STRING
from streamsql.values.records import key_encoder

_LAST = (1 << 56) - 1
"""No window begins later: the first byte of its start is 0."""
_EVER = struct.pack(">qq", 0, _LAST)
_FIRST_SURROGATE = "\ud800"


def can_look_up(source: Source) -> bool:
    """Whether a key of the table has one form only, and it is known here."""
    name = source.topic.key_format.name
    return name == "KAFKA" or (
        name in ("JSON", "DELIMITED") and source.created_by_query is not None
    )


def window_bytes(source: Source) -> int:
    """How many bytes of a key are its window's."""
    window = source.topic.window
    if window is None:
        return 0
    return 16 if window.has_end else 8


def key_writer(source: Source) -> Callable[[Sequence[Value]], bytes]:
    """Gives the bytes of a key without its window; of a key of nulls none."""
    names = [column.name for column in source.schema.key]
    encode = key_encoder(source.topic, source.schema)
    return lambda values: encode(dict(zip(names, values, strict=True))) or b""


def key_bytes(source: Source, values: Sequence[Value]) -> bytes:
    """The bytes of one key, as `key_writer` gives them."""
    return key_writer(source)(values)


def packed(keys: Sequence[bytes], source: Source, window: WindowRange | None) -> bytes:
    """Keys as KeyLookups.java reads them: what bounds their windows, then the keys."""
    bounds = _EVER if window is None else struct.pack(">qq", *_bounds(source, window))
    found = [bounds]
    for key in keys:
        found += (struct.pack(">i", len(key)), key)
    return b"".join(found)


def _bounds(source: Source, window: WindowRange) -> tuple[int, int]:
    """Bounds of the number after the key's bytes: the window's end if keys contain it, otherwise
    its start."""
    kind = source.topic.window
    if kind is None:
        return 0, _LAST
    if kind.has_end:
        low, high = window.end_from, window.end_to
    else:
        low, high = window.start_from, window.start_to
        if kind.size_ms is not None:
            if window.end_from is not None:
                low = max(low or 0, window.end_from - kind.size_ms)
            if window.end_to is not None:
                end = window.end_to - kind.size_ms
                high = end if high is None else min(high, end)
    return min(max(low or 0, 0), _LAST), _LAST if high is None else min(max(high, 0), _LAST)


def range_bytes(source: Source, route: KeyRange) -> tuple[bytes | None, bytes | None]:
    """The bytes between which the keys of a range lie, inclusive; None: no bound is known."""
    (column,) = source.schema.key
    if source.topic.key_format.name != "KAFKA" or column.type != STRING:
        return None, None
    low = _bound(route.low)
    high = _bound(route.high)
    if high is not None and source.is_windowed:
        # The window's bytes begin with 0.
        high += b"\x01"
    return low, high


def _bound(text: str | None) -> bytes | None:
    """Bytes are ordered as UTF-16 is, which orders strings in SQL, below the surrogates only."""
    if text is None or any(c >= _FIRST_SURROGATE for c in text):
        return None
    return text.encode()
