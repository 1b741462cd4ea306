"""The forms in which the rows of a query are sent: what stands before, between and after them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from streamsql.results import Row
from streamsql.schema import Schema
from streamsql.server.http.errors import Failure
from streamsql.server.http.media import DELIMITED, JSON, KSQL_JSON, PROTOBUF
from streamsql.server.rows.json_values import RowWriter, json_text
from streamsql.server.rows.protobuf import RowMessages
from streamsql.types import to_sql

ENDED = "Query Ended"
"""Said of a push query that has not reached a limit of its own."""


class Form(ABC):
    """Writes one query's answer. `push`: the rows come one by one, for as long as one looks."""

    media_type: str
    row_by_row = False
    """Whether every row is sent by itself: some clients parse frame by frame."""

    def __init__(self, query_id: str | None, schema: Schema, push: bool) -> None:
        self.query_id = query_id
        self.schema = schema
        self.push = push

    @abstractmethod
    def head(self) -> str: ...

    @abstractmethod
    def row(self, row: Row) -> str: ...

    @abstractmethod
    def end(self, final_message: str | None) -> str: ...

    @abstractmethod
    def failed(self, failure: Failure) -> str:
        """Instead of the end."""


class StreamedRows(Form):
    """ksqlDB's own: an array of objects, one a line, that say what they are.

    A push query's row is followed by its comma, so that whoever reads by lines has all of it; the
    array's end is then always an object.
    """

    media_type = KSQL_JSON

    def __init__(self, query_id: str | None, schema: Schema, push: bool) -> None:
        super().__init__(query_id, schema, push)
        self._before, self._after = ("", ",\n") if push else (",\n", "")
        self._row = self._row_writer()

    def _row_writer(self) -> Any:
        cells = RowWriter(column.type for column in self.schema)

        def write(row: Row) -> str:
            tombstone = ',"tombstone":true' if row.tombstone else ""
            return f'{{"row":{{"columns":{cells(row.values)}{tombstone}}}}}'

        return write

    def header(self) -> dict[str, Any]:
        return {"queryId": self.query_id, "schema": str(self.schema)}

    def head(self) -> str:
        header = {name: value for name, value in self.header().items() if value is not None}
        return "[" + json_text({"header": header}) + self._after

    def row(self, row: Row) -> str:
        return f"{self._before}{self._row(row)}{self._after}"

    def end(self, final_message: str | None) -> str:
        message = final_message or (ENDED if self.push else None)
        if message is None:
            return "]\n"
        return self._before + json_text({"finalMessage": message}) + "]\n"

    def failed(self, failure: Failure) -> str:
        return self._before + json_text({"errorMessage": failure.body}) + "]\n"


class ProtobufRows(StreamedRows):
    """The same with each row as a Protobuf message in base64; the header has its schema."""

    media_type = PROTOBUF

    def _row_writer(self) -> Any:
        self._messages = RowMessages(self.schema)

        def write(row: Row) -> str:
            tombstone = ',"tombstone":true' if row.tombstone else ""
            text = self._messages.base64(row.values)
            return f'{{"row":{{"protobufBytes":"{text}"{tombstone}}}}}'

        return write

    def header(self) -> dict[str, Any]:
        return {"queryId": self.query_id, "protoSchema": self._messages.proto}


class DelimitedRows(Form):
    """One JSON value a line: names and types, then an array a row. An object is an error."""

    media_type = DELIMITED
    row_by_row = True

    def __init__(self, query_id: str | None, schema: Schema, push: bool) -> None:
        super().__init__(query_id, schema, push)
        self._cells = RowWriter(column.type for column in schema)

    def head(self) -> str:
        about = {
            "queryId": self.query_id if self.push else None,
            "columnNames": list(self.schema.names),
            "columnTypes": [to_sql(column.type) for column in self.schema],
        }
        return json_text(about) + "\n"

    def row(self, row: Row) -> str:
        return self._cells(row.values) + "\n"

    def end(self, final_message: str | None) -> str:
        return ""

    def failed(self, failure: Failure) -> str:
        return json_text(failure.body) + "\n"


class JsonRows(DelimitedRows):
    """The same as one JSON array."""

    media_type = JSON
    row_by_row = False

    def head(self) -> str:
        return "[" + super().head().rstrip("\n")

    def row(self, row: Row) -> str:
        return ",\n" + self._cells(row.values)

    def end(self, final_message: str | None) -> str:
        return "]\n"

    def failed(self, failure: Failure) -> str:
        return ",\n" + json_text(failure.body) + "]\n"


FORMS: dict[str, type[Form]] = {
    form.media_type: form for form in (StreamedRows, ProtobufRows, DelimitedRows, JsonRows)
}
