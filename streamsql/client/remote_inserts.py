"""Rows to a server's /inserts-stream: a batch a request, an acknowledgement for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streamsql.client.inserting import JSONRow
from streamsql.client.transport import Lines, Transport
from streamsql.client.wire_errors import decode_error
from streamsql.errors import StreamSQLError

PATH = "/inserts-stream"


class RemoteInserts:
    """Writes into one stream or table of a server."""

    def __init__(self, transport: Transport, target: str, properties: Mapping[str, str]) -> None:
        """The target as SQL names it."""
        self._transport = transport
        self._head = {"target": target, "properties": dict(properties), "exact": True}
        self.token: str | None = None

    def write(self, rows: Sequence[JSONRow]) -> list[StreamSQLError | None]:
        """Writes rows; returns the error of each, None if Kafka acknowledged it. After an
        ExternalError the outcome of all rows is unknown."""
        self.token = None
        answer = self._transport.post_lines(PATH, [self._head, *rows])
        try:
            outcomes = self._outcomes(answer, len(rows))
        except BaseException:
            answer.close()
            raise
        answer.finish()
        return outcomes

    def _outcomes(self, answer: Lines, count: int) -> list[StreamSQLError | None]:
        outcomes: list[StreamSQLError | None] = []
        for line in answer:
            outcomes.append(_error(line))
            self.token = line.get("token") or self.token
            if len(outcomes) == count or line.get("last"):
                break
        return outcomes


def _error(line: Mapping[str, Any]) -> StreamSQLError | None:
    return decode_error(line["error"]) if line["status"] == "error" else None
