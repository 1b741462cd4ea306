"""Results as lines of JSON, and back: what POST /streamsql/execute answers.

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

from streamsql.client.wire_types import type_of_text, type_text
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
from streamsql.schema import Column, Namespace, Schema
from streamsql.values.nested import Codec
from streamsql.values.wire import decoder, encode_cells, encoder

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
        "fields": [[field.name, type_text(field.type)] for field in result.fields],
        "rows": [encode_cells(codecs, row) for row in result.rows],
    }


@encode.register
def _answer(result: Answer) -> Iterator[object]:
    columns = [[c.name, type_text(c.type), c.namespace.value] for c in result.schema]
    line = {"type": "answer", "query_id": result.query_id, "columns": columns}
    yield line if result.epoch is None else {**line, "epoch": result.epoch}
    yield from _cells(result.fields, result.rows)
    yield {"type": "end", "final_message": result.final_message}


@encode.register
def _row_stream(result: RowStream) -> Iterator[object]:
    columns = [[field.name, type_text(field.type)] for field in result.fields]
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


# -- what a client reads ---------------------------------------------------------------------------


def decode_complete(line: Mapping[str, Any]) -> Result | None:
    """The result of a line that is all of it; None for another line."""
    match line["type"]:
        case "message":
            known = Message.__dataclass_fields__
            return Message(**{name: value for name, value in line.items() if name in known})
        case "warning":
            return Warning(line["text"])
        case "text":
            return Text(line["text"])
        case "rows":
            fields = decode_fields(line["fields"])
            codecs = row_decoders(fields)
            rows = [tuple(encode_cells(codecs, row)) for row in line["rows"]]
            return Rows(fields, rows, line["title"])
    return None


def decode_fields(columns: Iterable[Sequence[str | None]]) -> tuple[Field, ...]:
    """Fields, of pairs of a name and the text of a type (None: values as SHOW has them)."""
    return tuple(Field(str(name), type_of_text(kind)) for name, kind in columns)


def decode_schema(columns: Iterable[Sequence[str]]) -> Schema:
    found = []
    for name, text, namespace in columns:
        kind = type_of_text(text)
        assert kind is not None
        found.append(Column(name, kind, Namespace(namespace)))
    return Schema(tuple(found))


def row_decoders(fields: Sequence[Field]) -> list[Codec]:
    """A function for each field that makes its value of what JSON has."""
    return [decoder(field.type) for field in fields]


def decode_row(codecs: Sequence[Codec], line: Any) -> Row | Progress:
    if isinstance(line, dict):
        if "progress" in line:
            return Progress(line["progress"]["epoch"], line["progress"]["time"])
        return Row(tuple(encode_cells(codecs, line["tombstone"])), tombstone=True)
    return Row(tuple(encode_cells(codecs, line)))
