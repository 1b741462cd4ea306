"""The records of a command topic: statements, who leads, and the seal by which they are signed."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass

from streamsql.errors import ConfigError
from streamsql.kafka.records import Headers
from streamsql.log.entries import Entry, decode, foreign
from streamsql.log.signatures import SEAL, Signatures

_log = logging.getLogger("streamsql.service")
_log.addHandler(logging.NullHandler())

STATEMENT, LEADER = b"statement", b"leader"


@dataclass(frozen=True)
class Leader:
    """Written by a server that begins to lead; `url` is where the others send their changes."""

    url: str | None
    version: str


class CommandRecords:
    """Reads the records of one topic, in their order."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self.signatures = Signatures(topic)

    def read(
        self, key: bytes | None, value: bytes | None, headers: Headers, offset: int
    ) -> Entry | Leader | None:
        """Content of a record; None for a seal, and for a foreign record, which is ignored so that
        it cannot stop the servers. ConfigError for a record of a later version."""
        place = f"record {offset} of the command topic {self._topic}"
        if self.signatures.holds(key, value, headers):
            try:
                return self._content(key, value or b"", place)
            except ValueError:
                pass
        _log.warning("ignored %s: it was not written by a server of the service", place)
        return None

    def _content(self, key: bytes | None, value: bytes, place: str) -> Entry | Leader | None:
        """ValueError for what no version of streamsql has written."""
        if key == SEAL:
            if not self.signatures.sealed:
                self.signatures.learn(value)
            return None
        content = json.loads(value)
        if not isinstance(content, dict):
            raise ValueError("no record of streamsql")
        if key == LEADER:
            return _leader(content)
        try:
            if key != STATEMENT:
                raise foreign(content, place)
            return decode(value, place)
        except ConfigError:
            if content.get("version"):
                raise
            raise ValueError("no record of streamsql") from None


def _leader(content: dict[str, object]) -> Leader:
    """Whatever else a later version says of itself is for its own: nothing depends on it."""
    url, version = content.get("url"), content.get("version", "")
    if url is not None and not (isinstance(url, str) and url.startswith(("http://", "https://"))):
        raise ValueError("no URL of a server")
    return Leader(url, str(version))
