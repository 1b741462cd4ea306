"""Who wrote a record of a command topic: a server of its service, or a stranger.

The first leader makes a key and writes it as the topic's seal. From then on servers sign every
record, and ignore records without a valid signature. No statement reads or writes the topic
(planner/internal_topics.py), so neither a user of any role nor a producer that may only write can
sign a record. Kafka Connect protects its workers' requests by a key in its config topic in the same
way (KIP-507). A program that may read and write the topic itself can sign, too: the topic's ACLs
keep it out.

A seal locks out servers of versions that do not know it, so a service that has such servers gets
none. A log without a seal is read as it is.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable

from streamsql.kafka.records import Headers
from streamsql.version import VERSION

SEAL = b"seal"
"""The key of the record that holds the key of the signatures."""
_HEADER = "streamsql-signature"


def new_seal() -> bytes:
    return json.dumps({"version": VERSION, "key": secrets.token_hex(32)}).encode()


class Signatures:
    """Signs and verifies the records of one topic, after reading its seal."""

    def __init__(self, topic: str) -> None:
        self._topic = topic.encode()
        self._key: bytes | None = None

    @property
    def sealed(self) -> bool:
        return self._key is not None

    def learn(self, value: bytes | None) -> None:
        """Take the key of a seal. ValueError for one that holds none."""
        try:
            self._key = bytes.fromhex(json.loads(value or b"")["key"])
        except (KeyError, TypeError) as error:
            raise ValueError("a seal without a key") from error

    def headers(self, key: bytes, value: bytes) -> dict[str, str | bytes | None]:
        """The headers of a record: its signature, if there is a seal."""
        return {} if self._key is None else {_HEADER: self._signature(self._key, key, value)}

    def holds(self, key: bytes | None, value: bytes | None, headers: Headers) -> bool:
        """Whether a server wrote the record; without a seal, any record is accepted."""
        if self._key is None:
            return True
        expected = self._signature(self._key, key or b"", value or b"")
        return any(hmac.compare_digest(expected, given) for given in _signatures(headers))

    def _signature(self, secret: bytes, key: bytes, value: bytes) -> bytes:
        parts = (self._topic, key, value)
        text = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        return hmac.digest(secret, text, hashlib.sha256)


def _signatures(headers: Headers) -> Iterable[bytes]:
    return (value for name, value in headers if name == _HEADER and value is not None)
