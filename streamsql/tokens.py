"""Read-your-writes tokens: written positions as opaque text."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

from streamsql.errors import ConfigError

Offsets = dict[str, dict[int, int]]
"""Offset after the last written record, by topic and partition."""


def to_token(offsets: Mapping[str, Mapping[int, int]]) -> str:
    text = json.dumps(offsets, separators=(",", ":"), sort_keys=True)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def merged(*tokens: str | None) -> str:
    return to_token(from_token(",".join(token for token in tokens if token)))


def from_token(token: str) -> Offsets:
    found: Offsets = {}
    for part in token.split(","):
        for topic, partitions in _offsets(part.strip()).items():
            known = found.setdefault(topic, {})
            for partition, offset in partitions.items():
                known[partition] = max(offset, known.get(partition, 0))
    return found


def _offsets(token: str) -> Offsets:
    try:
        text = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        content = json.loads(text)
        return {
            str(topic): {int(partition): int(offset) for partition, offset in partitions.items()}
            for topic, partitions in content.items()
        }
    except (ValueError, AttributeError, TypeError) as error:
        raise ConfigError("invalid consistency token") from error
