"""Whether a new schema of a subject is compatible with the ones before it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from streamsql.registry.embedded.compatibility_avro import avro_problems
from streamsql.registry.embedded.compatibility_json import json_problems
from streamsql.registry.embedded.compatibility_protobuf import protobuf_problems
from streamsql.registry.records import Schema, Version

Texts = Callable[[Schema], Mapping[str, str]]
"""The texts of the schemas that a schema refers to, by name."""


def problems(new: Schema, earlier: Sequence[Version], level: str, texts: Texts) -> list[str]:
    """Why the new schema breaks the rule; empty if it does not. `earlier` in ascending order."""
    if level == "NONE" or not earlier:
        return []
    checked = earlier if level.endswith("_TRANSITIVE") else earlier[-1:]
    found: list[str] = []
    for version in reversed(checked):
        old = version.schema
        if old.type != new.type:
            found.append(f"schema type {new.type} differs from {old.type} of {version.version}")
            continue
        if not level.startswith("FORWARD"):
            found += _cannot_read(new, old, texts)
        if not level.startswith("BACKWARD"):
            found += _cannot_read(old, new, texts)
    return found


def _cannot_read(reader: Schema, writer: Schema, texts: Texts) -> list[str]:
    """Why data of the writer's schema cannot be read by the reader's."""
    match reader.type:
        case "AVRO":
            return avro_problems(
                json.loads(reader.text),
                json.loads(writer.text),
                [json.loads(t) for t in texts(reader).values()],
                [json.loads(t) for t in texts(writer).values()],
            )
        case "PROTOBUF":
            return protobuf_problems(reader.text, writer.text)
    return json_problems(json.loads(reader.text), json.loads(writer.text))
