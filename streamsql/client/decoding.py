"""Results out of the lines of JSON that wire.py writes.

A column's type is parsed when it is read: the types take longer to load than a small query takes,
and a shell shows scalars by the names of their types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from streamsql.results import Answer, Field, Message, Progress, Result, Row, Rows, Text, Warning
from streamsql.values.scalars import SCALARS
from streamsql.values.wire import decoder, encode_cells, scalar_decoder

if TYPE_CHECKING:
    from streamsql.schema import Schema
    from streamsql.types import SQLType

Codec = Callable[[Any], Any]


class ReceivedField(Field):
    """A field of a server's result; equal to the field that was sent."""

    _text: str | None

    def __init__(self, name: str, text: str | None) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "_text", text)

    @property
    def type_name(self) -> str | None:
        return self._text

    @property
    def type(self) -> SQLType | None:
        if self._text is None:
            return None
        from streamsql.client.wire_types import type_of_text

        return type_of_text(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Field) and (self.name, self.type) == (other.name, other.type)

    def __hash__(self) -> int:
        return hash((self.name, self.type))


class ReceivedAnswer(Answer):
    """An answer of a server, without its rows."""

    def __init__(self, line: Mapping[str, Any]) -> None:
        self.query_id = line["query_id"]
        self.rows = ()
        self.final_message = None
        self.epoch = line.get("epoch")
        self._columns: Sequence[tuple[str, str, str]] = line["columns"]

    @property
    def fields(self) -> tuple[Field, ...]:
        return decode_fields(column[:2] for column in self._columns)

    @cached_property
    def schema(self) -> Schema:  # type: ignore[override]
        from streamsql.client.wire_types import type_of_text
        from streamsql.schema import Column, Namespace, Schema

        columns = self._columns
        return Schema(tuple(Column(n, type_of_text(t), Namespace(part)) for n, t, part in columns))


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
    return tuple(ReceivedField(str(name), kind) for name, kind in columns)


def row_decoders(fields: Sequence[Field]) -> list[Codec]:
    """A function for each field that makes its value of what JSON has."""
    return [_decoder(field) for field in fields]


def _decoder(field: Field) -> Codec:
    name = (field.type_name or "").partition("(")[0]
    return scalar_decoder(SCALARS[name]) if name in SCALARS else decoder(field.type)


def decode_row(codecs: Sequence[Codec], line: Any) -> Row | Progress:
    if isinstance(line, dict):
        if "progress" in line:
            return Progress(line["progress"]["epoch"], line["progress"]["time"])
        return Row(tuple(encode_cells(codecs, line["tombstone"])), tombstone=True)
    return Row(tuple(encode_cells(codecs, line)))
