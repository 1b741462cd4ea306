"""A schema registry for each test: its ids begin at 1, and nothing is checked for compatibility."""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from functools import cached_property
from typing import Any

from streamsql.catalog import Source
from streamsql.errors import ConfigError
from streamsql.formats import FORMATS, Side
from streamsql.formats.options import FULL_NAME
from streamsql.formats.protobuf_json import protobuf_from_json, protobuf_to_json
from streamsql.formats.registered import SchemaText
from streamsql.registry.client import RegistryClient
from streamsql.registry.embedded.server import HttpServer
from streamsql.registry.embedded.store import Store
from streamsql.registry.framing import framed_to_json, json_to_framed
from streamsql.registry.lookup import RegistrySchemas
from streamsql.registry.records import Reference, Schema
from streamsql.registry.serdes import (
    Schemas,
    register_declared,
    register_written,
    written_by,
)
from streamsql.schema import FormatSpec
from streamsql.test_driver.json_values import JSON, JSONObject, to_text

Scope = MutableMapping[str, Any]


class _Server:
    """All registries behind one port, distinguished by the first path segment."""

    def __init__(self) -> None:
        self._applications: dict[str, Any] = {}
        self.url = HttpServer(self._answer).start()

    def add(self, store: Store) -> str:
        """The URL of a registry over the store."""
        from streamsql.registry.embedded.app import app

        name = str(len(self._applications))
        self._applications[name] = app(store)
        return f"{self.url}/{name}"

    async def _answer(
        self, scope: Scope, receive: Callable[..., Awaitable[Any]], send: Callable[..., Any]
    ) -> None:
        name, _, rest = scope["raw_path"].lstrip(b"/").partition(b"/")
        inner = {**scope, "raw_path": b"/" + rest}
        await self._applications[name.decode()](inner, receive, send)


@functools.cache
def _server() -> _Server:
    """Started by the first test that needs it; ends with the process."""
    return _Server()


def _open_store() -> Store:
    store = Store()
    store.set_level(None, "NONE")
    store.set_mode(None, "IMPORT")
    return store


class SharedRegistry:
    """A registry for several tests, with globally unique ids."""

    def __init__(self) -> None:
        self.store = _open_store()
        self.client = RegistryClient.at(_server().add(self.store))


class CaseRegistry:
    """One test's registry. The schemas of a topic are in it as soon as a statement names it."""

    def __init__(self, topics: Iterable[JSONObject], shared: SharedRegistry | None = None) -> None:
        """`shared`: a registry that others use, too."""
        self._waiting = [t for t in topics if _has_schema(t)]
        self._shared = shared

    @cached_property
    def store(self) -> Store:
        return self._shared.store if self._shared else _open_store()

    @cached_property
    def client(self) -> RegistryClient:
        """Asks that store as an engine asks a registry."""
        return self._shared.client if self._shared else RegistryClient.at(_server().add(self.store))

    @property
    def lookup(self) -> RegistrySchemas:
        return RegistrySchemas(lambda: self.client)

    @property
    def schemas(self) -> Schemas:
        return Schemas(lambda: self.client)

    # -- registering -----------------------------------------------------------------------------

    def before(self, statement: str) -> None:
        """Register the schemas of the topics that the statement names."""
        named = [t for t in self._waiting if str(t["name"]).lower() in statement.lower()]
        self._waiting = [t for t in self._waiting if t not in named]
        for topic in named:
            for side in ("key", "value"):
                self._register(topic, side)

    def _register(self, topic: JSONObject, side: str) -> None:
        given = topic.get(f"{side}Schema", topic.get("schema") if side == "value" else None)
        if given is None:
            return
        references = []
        for number, other in enumerate(topic.get(f"{side}SchemaReferences", ()), 1):
            name = str(other["name"])
            kind = _schema_type(other.get("format"), other["schema"])
            self.store.register(name, Schema(kind, _text(other["schema"])), version=number)
            references.append(Reference(name, name, number))
        format_name = topic.get(f"{side}Format", topic.get("format"))
        schema = Schema(_schema_type(format_name, given), _text(given), tuple(references))
        id = topic.get(f"{side}SchemaId")
        self.store.register(f"{topic['name']}-{side}", schema, id=None if id is None else int(id))

    def declared(self, source: Source) -> None:
        register_declared(lambda: self.client, source)

    def written(self, sink: Source) -> None:
        register_written(lambda: self.client, sink)

    # -- records ---------------------------------------------------------------------------------

    def encode(self, source: Source, side: Side, value: JSON) -> bytes:
        """The bytes of an input: by the topic's latest schema, else by the columns' own."""
        spec = _spec(source, side)
        if spec.name == "PROTOBUF_NOSR":
            return protobuf_from_json(_own_schema(source, side), value)
        subject = f"{source.topic.name}-{side.name.lower()}"
        schema = self.client.latest(subject)
        if schema is None:
            schema = written_by(self.client, source.topic, source.schema, side)
        if schema.type != FORMATS[spec.name].schema_type:
            raise ConfigError(f"the schema of {subject} is of type {schema.type}")
        return json_to_framed(schema, value, to_text, spec.properties.get(FULL_NAME))

    def decode(self, source: Source, side: Side, data: bytes) -> JSON:
        """The value of an output's bytes; ValueError where they cannot be read."""
        if _spec(source, side).name == "PROTOBUF_NOSR":
            return protobuf_to_json(_own_schema(source, side), data)
        return framed_to_json(data, self.client.by_id)


def _spec(source: Source, side: Side) -> FormatSpec:
    return source.topic.key_format if side is Side.KEY else source.topic.value_format


def _own_schema(source: Source, side: Side) -> SchemaText:
    spec = _spec(source, side)
    columns = source.schema.key if side is Side.KEY else source.schema.value
    text = FORMATS[spec.name].schema_of(columns, spec.properties, wrapped=True)
    return SchemaText("PROTOBUF", text)


def _has_schema(topic: JSONObject) -> bool:
    return any(topic.get(name) is not None for name in ("keySchema", "valueSchema", "schema"))


def _schema_type(format_name: object, schema: JSON) -> str:
    """Protobuf is text; a document is a JSON schema only where the topic's format says so."""
    name = str(format_name or "").upper()
    if name.startswith("PROTOBUF") or (isinstance(schema, str) and "message" in schema):
        return "PROTOBUF"
    if name.startswith("JSON") or (isinstance(schema, dict) and _is_json_schema(schema)):
        return "JSON"
    return "AVRO"


def _is_json_schema(schema: JSONObject) -> bool:
    return "properties" in schema or "oneOf" in schema or schema.get("type") == "object"


def _text(schema: JSON) -> str:
    if isinstance(schema, str) and "message" in schema:
        return schema
    return json.dumps(schema)
