"""The schemas that the keys and values of topics are read and written by, as JVM codecs need them.

A side is written by the schema made of its columns, registered under the topic's subject, or by
the one that KEY_SCHEMA_ID or VALUE_SCHEMA_ID names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from streamsql.catalog import Source
from streamsql.errors import ConfigError, InternalError, PlanError
from streamsql.formats import FORMATS, Format, Side
from streamsql.formats.options import FULL_NAME, SCHEMA_ID
from streamsql.formats.registered import SchemaText
from streamsql.planner.with_clause.format_choice import key_record_name
from streamsql.registry.canonical import serialized
from streamsql.schema import Column, FormatSpec, Schema, Topic

if TYPE_CHECKING:
    from streamsql.registry.client import RegistryClient

Registry = Callable[[], "RegistryClient"]


class SideSchemas(Protocol):
    """Either way of using a side's schema."""

    def of(self, topic: Topic, schema: Schema, side: Side) -> Mapping[str, str]:
        """Further properties for the codec of the side's format (`Codecs`)."""


def _no_registry() -> RegistryClient:
    raise ConfigError("no schema registry is configured")


@dataclass(frozen=True)
class Schemas:
    """Both ways; the registry is asked for only by formats that need it."""

    registry: Registry = _no_registry

    @property
    def reading(self) -> SideSchemas:
        """The schemas that records are read by: the latest registered."""
        return _Reading(self.registry)

    @property
    def writing(self) -> SideSchemas:
        return _Writing(self.registry)


@dataclass(frozen=True)
class _Reading:
    registry: Registry

    def of(self, topic: Topic, schema: Schema, side: Side) -> Mapping[str, str]:
        if FORMATS[_spec(topic, side).name].reads_by_id:
            return self.registry().connection.for_codecs()
        if not _is_registered(topic, schema, side):
            return _unregistered(topic, schema, side)
        return self.registry().connection.for_codecs()


@dataclass(frozen=True)
class _Writing:
    registry: Registry

    def of(self, topic: Topic, schema: Schema, side: Side) -> Mapping[str, str]:
        if not _is_registered(topic, schema, side):
            return _unregistered(topic, schema, side)
        return _codec(written_by(self.registry(), topic, schema, side), _spec(topic, side))


def _is_registered(topic: Topic, schema: Schema, side: Side) -> bool:
    if not _columns(schema, side):
        return False
    return FORMATS[_spec(topic, side).name].schema_type is not None


def _unregistered(topic: Topic, schema: Schema, side: Side) -> Mapping[str, str]:
    """Of the formats without a registry only one has a schema."""
    spec, columns = _spec(topic, side), _columns(schema, side)
    if spec.name != "PROTOBUF_NOSR" or not columns:
        return {}
    text = FORMATS[spec.name].schema_of(columns, spec.properties, wrapped=True)
    return {"schema": serialized("PROTOBUF", text)}


def _codec(written: SchemaText, spec: FormatSpec) -> Mapping[str, str]:
    references = {n: serialized(written.type, t, n) for n, t in written.references.items()}
    properties = {
        "schema": serialized(written.type, written.text),
        "schema.id": str(written.id),
        "schema.references": json.dumps(references),
    }
    full_name = spec.properties.get(FULL_NAME)
    if written.type == "PROTOBUF" and full_name is not None:
        properties["schema.message"] = full_name
    return properties


# -- registering ---------------------------------------------------------------------------------


def register_declared(registry: Registry, source: Source) -> None:
    """Register the schemas of a source's listed columns where the subjects have none yet."""
    for side in _registered_sides(source):
        if SCHEMA_ID in _spec(source.topic, side).properties:
            continue
        client = registry()
        if not client.exists(subject(source.topic, side)):
            written_by(client, source.topic, source.schema, side)


def register_written(registry: Registry, sink: Source) -> None:
    """Register what a query will write; PlanError where the subject does not allow it."""
    for side in _registered_sides(sink):
        written_by(registry(), sink.topic, sink.schema, side)


def delete_subjects(registry: Registry, source: Source) -> None:
    """Delete the schemas of a source's topic."""
    for side in _registered_sides(source):
        registry().delete(subject(source.topic, side))


def _registered_sides(source: Source) -> list[Side]:
    return [side for side in Side if _is_registered(source.topic, source.schema, side)]


def written_by(client: RegistryClient, topic: Topic, schema: Schema, side: Side) -> SchemaText:
    """The write schema of a side with its id, registered if necessary. A topic's existing schema is
    kept if it has the same columns and permits no other."""
    spec, columns = _spec(topic, side), _columns(schema, side)
    side_format = FORMATS[spec.name]
    if side_format.schema_type is None:
        raise InternalError(f"{spec.name} has no schemas")
    given = spec.properties.get(SCHEMA_ID)
    if given is not None:
        found = client.by_id(int(given))
        if found is None:
            raise PlanError(f"Schema with the id {given} does not exist in the Schema Registry.")
        return found
    options = dict(spec.properties)
    if side is Side.KEY and spec.name == "AVRO":
        options.setdefault(FULL_NAME, key_record_name(topic.name))
    wrapped = _wrapped(side, spec, columns)
    text = side_format.schema_of(columns, options, wrapped=wrapped)
    name = subject(topic, side)
    try:
        id = client.register(name, side_format.schema_type, text)
    except PlanError:
        latest = client.latest(name)
        if latest is None or not _has_columns(latest, side_format, spec, columns, wrapped):
            raise
        return latest
    return SchemaText(side_format.schema_type, text, id=id)


def _has_columns(
    latest: SchemaText,
    side_format: Format,
    spec: FormatSpec,
    columns: Sequence[Column],
    wrapped: bool,
) -> bool:
    if latest.type != side_format.schema_type:
        return False
    lone = None if wrapped else columns[0].name
    found = side_format.columns_of(latest, spec.properties, lone, upper=True)
    return found == [(c.name.upper(), c.type) for c in columns]


def subject(topic: Topic, side: Side) -> str:
    return f"{topic.name}-{side.name.lower()}"


def _columns(schema: Schema, side: Side) -> tuple[Column, ...]:
    return schema.key if side is Side.KEY else schema.value


def _spec(topic: Topic, side: Side) -> FormatSpec:
    return topic.key_format if side is Side.KEY else topic.value_format


def _wrapped(side: Side, spec: FormatSpec, columns: Sequence[Column]) -> bool:
    if len(columns) != 1 or not FORMATS[spec.name].whole_keys:
        return True
    return side is Side.VALUE and spec.properties.get("wrap") != "false"
