"""Protobuf schemas of columns, and the columns of Protobuf schemas, as Kafka Connect maps them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from google.protobuf import any_pb2, duration_pb2, field_mask_pb2, struct_pb2
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from streamsql.errors import ConfigError, PlanError, UnsupportedError
from streamsql.formats.proto_options import FIELD_META
from streamsql.formats.proto_parser import parse_proto
from streamsql.formats.registered import InferredColumns, SchemaText, upper_name
from streamsql.schema import Column
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    MAX_PRECISION,
    STRING,
    TIME,
    TIMESTAMP,
    SQLType,
    array,
    decimal,
    element_type,
    fields,
    is_array,
    is_decimal,
    is_map,
    is_struct,
    map_,
    precision_scale,
    struct,
)

DEFAULT_NAME = "ConnectDefault1"
DECIMAL_MESSAGE = "confluent.type.Decimal"
_WRAPPERS = "google/protobuf/wrappers.proto"

_SCALARS: tuple[tuple[SQLType, str, str], ...] = (
    (BOOLEAN, "bool", "BoolValue"),
    (INT, "int32", "Int32Value"),
    (BIGINT, "int64", "Int64Value"),
    (DOUBLE, "double", "DoubleValue"),
    (STRING, "string", "StringValue"),
    (BYTES, "bytes", "BytesValue"),
)
_MESSAGES: tuple[tuple[SQLType, str, str], ...] = (
    (DATE, "google.type.Date", "google/type/date.proto"),
    (TIME, "google.type.TimeOfDay", "google/type/timeofday.proto"),
    (TIMESTAMP, "google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
)

_STANDARD = tuple(
    FileDescriptorProto.FromString(file.DESCRIPTOR.serialized_pb)
    for file in (any_pb2, duration_pb2, field_mask_pb2, struct_pb2)
)
"""Files that every schema may import without a reference, in addition to _KNOWN."""

_F = FieldDescriptorProto
_INFERRED: dict[int, SQLType] = {
    _F.TYPE_DOUBLE: DOUBLE,
    _F.TYPE_FLOAT: DOUBLE,
    _F.TYPE_INT64: BIGINT,
    _F.TYPE_UINT64: BIGINT,
    _F.TYPE_INT32: INT,
    _F.TYPE_FIXED64: BIGINT,
    _F.TYPE_FIXED32: BIGINT,
    _F.TYPE_BOOL: BOOLEAN,
    _F.TYPE_STRING: STRING,
    _F.TYPE_BYTES: BYTES,
    _F.TYPE_UINT32: BIGINT,
    _F.TYPE_SFIXED32: INT,
    _F.TYPE_SFIXED64: BIGINT,
    _F.TYPE_SINT32: INT,
    _F.TYPE_SINT64: BIGINT,
}
_KNOWN: dict[str, SQLType] = {
    **{f"google.protobuf.{wrapper}": kind for kind, _, wrapper in _SCALARS},
    **{name: kind for kind, name, _ in _MESSAGES},
    "google.protobuf.FloatValue": DOUBLE,
    "google.protobuf.UInt32Value": BIGINT,
    "google.protobuf.UInt64Value": BIGINT,
}


# -- from columns --------------------------------------------------------------------------------


def protobuf_schema(
    columns: Sequence[Column],
    full_name: str | None,
    nullable: str | None,
    *,
    map_entries: bool = False,
) -> str:
    """The .proto text; `nullable` is OPTIONAL or WRAPPER to distinguish nulls from zeros.
    `map_entries`: maps are lists of messages `ConnectDefaultNEntry` with key and value."""
    package, _, name = (full_name or DEFAULT_NAME).rpartition(".")
    writer = _Writer(nullable, map_entries)
    body = writer.message(name, [(c.name, c.type) for c in columns])
    head = ['syntax = "proto3";']
    if package:
        head.append(f"package {package};")
    imports = [f'import "{path}";' for path in sorted(writer.imports)]
    return "\n".join([*head, "", *imports, *([""] if imports else []), *body]) + "\n"


@dataclass
class _Writer:
    nullable: str | None
    map_entries: bool = False
    imports: set[str] = field(default_factory=set)
    _count: int = 1

    def message(self, name: str, members: Sequence[tuple[str, SQLType]]) -> list[str]:
        lines, nested = [f"message {name} {{"], []
        for number, (member, kind) in enumerate(members, 1):
            label, text, options, inner = self._field(kind)
            lines.append(f"  {label}{text} {member} = {number}{options};")
            nested += ["", *inner] if inner else []
        return [*lines, *("  " + line if line else "" for line in nested), "}"]

    def _field(self, t: SQLType) -> tuple[str, str, str, list[str]]:
        """Label, type, options and the lines of a nested message."""
        if is_array(t):
            text, options, inner = self._type(element_type(t))
            return "repeated ", text, options, inner
        if is_map(t) and self.map_entries:
            self._count += 1
            entry = f"ConnectDefault{self._count}Entry"
            members = [("key", STRING), ("value", element_type(t))]
            return "repeated ", entry, "", self.message(entry, members)
        if is_map(t):
            text, options, inner = self._type(element_type(t))
            return "", f"map<string, {text}>", options, inner
        for kind, scalar, wrapper in _SCALARS:
            if t == kind and self.nullable == "WRAPPER":
                self.imports.add(_WRAPPERS)
                return "", f"google.protobuf.{wrapper}", "", []
            if t == kind:
                return "optional " if self.nullable == "OPTIONAL" else "", scalar, "", []
        text, options, inner = self._type(t)
        return "", text, options, inner

    def _type(self, t: SQLType) -> tuple[str, str, list[str]]:
        """The type of a single value, options and the lines of a nested message."""
        for kind, scalar, _ in _SCALARS:
            if t == kind:
                return scalar, "", []
        for kind, name, path in _MESSAGES:
            if t == kind:
                self.imports.add(path)
                return name, "", []
        if is_decimal(t):
            precision, scale = precision_scale(t)
            self.imports.update(("confluent/type/decimal.proto", "confluent/meta.proto"))
            parameters = (
                f'{{ params: [ {{ key: "precision", value: "{precision}" }}, '
                f'{{ key: "scale", value: "{scale}" }} ] }}'
            )
            return DECIMAL_MESSAGE, f" [({FIELD_META}) = {parameters}]", []
        self._count += 1
        name = f"ConnectDefault{self._count}"
        return name, "", self.message(name, fields(t))


def nesting_problem(t: SQLType) -> str | None:
    """Protobuf repeats single values only: no lists or maps directly inside of lists and maps."""
    if is_array(t) or is_map(t):
        inner = element_type(t)
        if is_array(inner) or is_map(inner):
            return "it holds no ARRAY or MAP directly inside of an ARRAY or MAP"
        return nesting_problem(inner)
    if is_struct(t):
        return next(filter(None, (nesting_problem(kind) for _, kind in fields(t))), None)
    return None


# -- to columns ----------------------------------------------------------------------------------


def protobuf_columns(schema: SchemaText, full_name: str | None, *, upper: bool) -> InferredColumns:
    """The columns of a message: the one of that name, with or without its package, or the schema's
    first."""
    file = parse_proto(schema.text)
    others = [parse_proto(text, name) for name, text in schema.references.items()]
    types = _Types([file, *others, *_STANDARD], upper)
    if full_name is None:
        if not file.message_type:
            raise ConfigError("the Protobuf schema has no message")
        full_name = file.message_type[0].name
    return fields(types.named(full_name, file.package))


class _Types:
    """All messages and enums of some files, by their full names."""

    def __init__(self, files: Sequence[FileDescriptorProto], upper: bool) -> None:
        self._upper = upper
        self._messages: dict[str, DescriptorProto] = {}
        self._enums: set[str] = set()
        self._open: list[str] = []
        for file in files:
            self._enums.update(_join(file.package, e.name) for e in file.enum_type)
            for message in file.message_type:
                for name, found in _nested(file.package, message):
                    self._messages[name] = found
                    self._enums.update(_join(name, e.name) for e in found.enum_type)

    def named(self, name: str, package: str) -> SQLType:
        """The message of that full name, or of that name in the package."""
        inside = _join(package, name)
        return self.message(inside if inside in self._messages else name)

    def message(self, name: str) -> SQLType:
        found = self._messages.get(name)
        if found is None:
            known = ", ".join(n for n in self._messages if not n.startswith("google.protobuf."))
            raise PlanError(
                f"the Protobuf schema has no message {name}", hint=f"Its messages are {known}."
            )
        if name in self._open:
            raise UnsupportedError(
                f"the Protobuf message {name} contains itself, which no SQL type does",
                hint="List the columns that you need.",
            )
        self._open.append(name)
        members = [(upper_name(f.name, self._upper), self._field(f, name)) for f in found.field]
        self._open.pop()
        return struct(members)

    def _field(self, found: FieldDescriptorProto, scope: str) -> SQLType:
        if found.label != _F.LABEL_REPEATED:
            return self._single(found, scope)
        name = self._resolve(found.type_name, scope) if found.type_name else ""
        entry = self._messages.get(name)
        if entry is not None and entry.options.map_entry:
            key, value = (self._single(f, name) for f in entry.field)
            return map_(key, value)
        return array(self._single(found, scope))

    def _single(self, found: FieldDescriptorProto, scope: str) -> SQLType:
        if not found.type_name:
            return _INFERRED[found.type]
        known = found.type_name.lstrip(".")
        if known == DECIMAL_MESSAGE:
            return _decimal(found)
        if known in _KNOWN:
            return _KNOWN[known]
        name = self._resolve(found.type_name, scope)
        return STRING if name in self._enums else self.message(name)

    def _resolve(self, name: str, scope: str) -> str:
        """The full name of a type, looked for from the innermost scope outwards."""
        if name.startswith("."):
            return name[1:]
        while True:
            candidate = _join(scope, name)
            if candidate in self._messages or candidate in self._enums:
                return candidate
            if not scope:
                raise ConfigError(
                    f"the Protobuf schema refers to an unknown type {name}",
                    hint="Register the schema with a reference to the file that declares it.",
                )
            scope = scope.rpartition(".")[0]


def _nested(scope: str, message: DescriptorProto) -> Iterator[tuple[str, DescriptorProto]]:
    name = _join(scope, message.name)
    yield name, message
    for inner in message.nested_type:
        yield from _nested(name, inner)


def _join(scope: str, name: str) -> str:
    return f"{scope}.{name}" if scope else name


def _decimal(found: FieldDescriptorProto) -> SQLType:
    """Precision and scale are in an option; without it the maximum precision applies."""
    text = " ".join(o.string_value.decode() for o in found.options.uninterpreted_option)
    given = {
        name: int(digits)
        for name, digits in re.findall(r'key\s*:\s*"(\w+)"\s*,?\s*value\s*:\s*"(\d+)"', text)
    }
    precision = min(given.get("precision", MAX_PRECISION), MAX_PRECISION)
    return decimal(precision, min(given.get("scale", 0), precision))
