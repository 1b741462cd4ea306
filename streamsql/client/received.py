"""The answer to a text of statements: its lines as results, as they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamsql.client.decoding import (
    ReceivedAnswer,
    decode_complete,
    decode_fields,
    decode_row,
    row_decoders,
)
from streamsql.client.transport import Lines
from streamsql.client.wire_errors import decode_error
from streamsql.errors import InternalError
from streamsql.results import Answer, LineStream, Result, RowStream
from streamsql.session import Session


class Received:
    """The answer to one text: its lines as results, and what they change in the session."""

    def __init__(self, lines: Lines, sql: str, session: Session) -> None:
        self._source = lines
        self._lines = iter(lines)
        self._sql = sql
        self._session = session
        self._cancelled = False
        self._complete = False
        self._closed = False
        self._between = True
        """No rows are to come before the next result."""

    def cancel(self) -> None:
        """End it, from any thread."""
        self._cancelled = True
        self._source.close()

    def close(self) -> None:
        """Nothing more is read; may be called again."""
        if self._closed:
            return
        self._closed = True
        if self._complete:
            self._source.finish()
        else:
            self._source.close()

    def results(self) -> Iterator[Result]:
        """The results in their order; the rows of one must be read before the next is asked for,
        or are skipped."""
        while (line := self._next()) is not None:
            yield self._result(line)
            while not self._between and self._item() is not None:
                pass

    def _next(self) -> dict[str, Any] | None:
        """The next line that begins a result; None at the end. Raises the error of a statement."""
        for line in self._lines:
            match line["type"]:
                case "alive":
                    continue
                case "session":
                    self._change_session(line)
                case "done":
                    self._complete = True
                    return None
                case "error":
                    self._complete = True
                    raise decode_error(line, self._sql)
                case _:
                    found: dict[str, Any] = line
                    return found
        return None

    def _result(self, line: dict[str, Any]) -> Result:
        complete = decode_complete(line)
        if complete is not None:
            return complete
        self._between = False
        match line["type"]:
            case "row_stream":
                fields = decode_fields(line["fields"])
                stream = RowStream(line["query_id"], fields, iter(()), self)
                stream.rows = self._rows(stream)
                return stream
            case "answer":
                answer = ReceivedAnswer(line)
                answer.rows = self._rows(answer)
                return answer
            case "line_stream":
                lines = LineStream(iter(()), self)
                lines.lines = self._text(lines)
                return lines
        raise InternalError(f"the server sent a result of an unknown type: {line['type']}")

    def _rows(self, result: RowStream | Answer) -> Iterator[Any]:
        codecs = row_decoders(result.fields)
        while (item := self._item(result)) is not None:
            yield decode_row(codecs, item)

    def _text(self, result: LineStream) -> Iterator[str]:
        while (item := self._item(result)) is not None:
            yield item

    def _item(self, result: RowStream | Answer | LineStream | None = None) -> Any | None:
        """The next row or text; None at the end, which may leave a message in `result`."""
        if self._between:
            return None
        for item in self._lines:
            if not isinstance(item, dict) or "tombstone" in item or "progress" in item:
                return item
            match item["type"]:
                case "end":
                    self._between = True
                    if result is not None:
                        result.final_message = item["final_message"]
                    return None
                case "error":
                    self._complete = self._between = True
                    self.close()
                    raise decode_error(item, self._sql)
        self._between = True
        return None

    def _change_session(self, line: dict[str, Any]) -> None:
        session = self._session
        session.properties.update(line["set"])
        session.variables.update(line["define"])
        for name in line["unset"]:
            session.properties.pop(name, None)
        for name in line["undefine"]:
            session.variables.pop(name, None)
