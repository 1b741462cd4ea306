"""Results as lines of JSON: what POST /streamsql/execute answers, and decoding.py reads.

A result is an object with a `type`. Rows follow what they belong to, each as an array, a tombstone
as {"tombstone": [..]}, the end of an epoch of views as {"progress": {..}}, a line of PRINT as a
string; {"type": "end"} ends them. Nothing comes after
{"type": "error"} or {"type": "done"}; {"type": "alive"} only says that the server is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import singledispatch
from typing import Any

from streamsql.errors import InternalError
from streamsql.results import (
    Answer,
    Field,
    LineStream,
    Message,
    Progress,
    Result,
    Row,
    Rows,
    RowStream,
    Text,
    Warning,
)
from streamsql.types import to_sql
from streamsql.values.wire import encode_cells, encoder

ALIVE = {"type": "alive"}
DONE = {"type": "done"}
ALIVE_SECONDS = 5.0
"""Maximum silence of a server while a statement is running."""


def to_line(item: object) -> bytes:
    return json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def is_end(item: object) -> bool:
    """Whether a line of `encode` ends the rows of a result."""
    return isinstance(item, dict) and item.get("type") == "end"


@singledispatch
def encode(result: Result) -> Iterator[object]:
    """The lines of a result, of a stream as its rows come."""
    raise InternalError(f"a result that cannot be sent: {type(result).__name__}")


@encode.register
def _message(result: Message) -> Iterator[object]:
    line = {"type": "message", "text": result.text, "query_id": result.query_id}
    yield {**line, **_more(result, Message.__dataclass_fields__, line)}


def _more(result: object, names: Iterable[str], known: Mapping[str, object]) -> dict[str, Any]:
    """Fields of a result of text that have no rule of their own."""
    return {name: getattr(result, name) for name in names if name not in known}


@encode.register
def _warning(result: Warning) -> Iterator[object]:
    yield {"type": "warning", "text": result.text}


@encode.register
def _text(result: Text) -> Iterator[object]:
    yield {"type": "text", "text": result.text}


@encode.register
def _rows(result: Rows) -> Iterator[object]:
    codecs = [encoder(field.type) for field in result.fields]
    yield {
        "type": "rows",
        "title": result.title,
        "fields": [[field.name, field.type_name] for field in result.fields],
        "rows": [encode_cells(codecs, row) for row in result.rows],
    }


@encode.register
def _answer(result: Answer) -> Iterator[object]:
    columns = [[c.name, to_sql(c.type), c.namespace.value] for c in result.schema]
    line = {"type": "answer", "query_id": result.query_id, "columns": columns}
    yield line if result.epoch is None else {**line, "epoch": result.epoch}
    yield from _cells(result.fields, result.rows)
    yield {"type": "end", "final_message": result.final_message}


@encode.register
def _row_stream(result: RowStream) -> Iterator[object]:
    columns = [[field.name, field.type_name] for field in result.fields]
    yield {"type": "row_stream", "query_id": result.query_id, "fields": columns}
    yield from _cells(result.fields, result.rows)
    yield {"type": "end", "final_message": result.final_message}


@encode.register
def _line_stream(result: LineStream) -> Iterator[object]:
    yield {"type": "line_stream"}
    yield from result.lines
    yield {"type": "end", "final_message": result.final_message}


def _cells(fields: Sequence[Field], rows: Iterable[Row | Progress]) -> Iterator[object]:
    codecs = [encoder(field.type) for field in fields]
    for row in rows:
        if isinstance(row, Progress):
            yield {"progress": {"epoch": row.epoch, "time": row.time}}
            continue
        cells = encode_cells(codecs, row.values)
        yield {"tombstone": cells} if row.tombstone else cells
