"""Converts Protobuf to JSON values and back by schema, for display and tests.

Messages are objects with all their fields, unset ones with the default (null for messages, BYTES
and fields with presence); BYTES base64, DECIMAL a Decimal, DATE days, TIME and TIMESTAMP
milliseconds. Queries read and write Protobuf in the JVM.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any

from google.protobuf import (
    any_pb2,
    descriptor_pool,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    message_factory,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError, Message

from streamsql.formats.proto_parser import parse_proto
from streamsql.formats.registered import SchemaText

JSON = Any
Field = Any
"""A field's descriptor, of which there are two kinds."""
_EPOCH = date(1970, 1, 1).toordinal()
_KNOWN = (any_pb2, duration_pb2, empty_pb2, field_mask_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
_OTHERS = {
    "google/type/date.proto": """package google.type;
        message Date { int32 year = 1; int32 month = 2; int32 day = 3; }""",
    "google/type/timeofday.proto": """package google.type; message TimeOfDay {
        int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }""",
    "confluent/type/decimal.proto": """package confluent.type; message Decimal {
        bytes value = 1; uint32 precision = 2; int32 scale = 3; }""",
}
_FILE = "schema.proto"


def protobuf_to_json(schema: SchemaText, data: bytes, indexes: Sequence[int] = (0,)) -> JSON:
    """The message of the bytes, without framing; `indexes` are its position in the schema.
    ValueError for invalid bytes."""
    message = message_class(schema, tuple(indexes))()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise ValueError(f"invalid Protobuf: {error}") from error
    return _to_json(message)


def protobuf_from_json(schema: SchemaText, value: JSON, indexes: Sequence[int] = (0,)) -> bytes:
    """The bytes of an object, without a frame; names of fields may differ in case."""
    message = message_class(schema, tuple(indexes))()
    _fill(message, value)
    return message.SerializeToString(deterministic=True)


def indexes_of(schema: SchemaText, full_name: str | None) -> tuple[int, ...]:
    """Position of the named message in the schema; without a name, of the first."""
    file = parse_proto(schema.text)
    if full_name is None:
        return (0,)
    name = full_name.removeprefix(f"{file.package}.") if file.package else full_name
    messages: Sequence[DescriptorProto] = file.message_type
    found = []
    for step in name.split("."):
        names = [m.name for m in messages]
        if step not in names:
            raise ValueError(f"the Protobuf schema has no message {full_name}")
        found.append(names.index(step))
        messages = messages[found[-1]].nested_type
    return tuple(found)


def message_class(schema: SchemaText, indexes: tuple[int, ...] = (0,)) -> type[Message]:
    references = tuple(schema.references.items())
    return _cached_class(schema.text, references, indexes)


@lru_cache(maxsize=256)
def _cached_class(
    text: str, references: tuple[tuple[str, str], ...], indexes: tuple[int, ...]
) -> type[Message]:
    pool = descriptor_pool.DescriptorPool()
    for module in _KNOWN:
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    for name, other in _OTHERS.items():
        _add(pool, parse_proto(f'syntax = "proto3"; {other}', name))
    others = {name: parse_proto(other, name) for name, other in references if name not in _OTHERS}
    for other_file in _in_order_of_imports(others):
        _add(pool, other_file)
    file = parse_proto(text, _FILE)
    _add(pool, file)
    message: DescriptorProto | None = None
    path = [file.package] if file.package else []
    nested: Sequence[DescriptorProto] = file.message_type
    for index in indexes:
        message = nested[index]
        nested = message.nested_type
        path.append(message.name)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(".".join(path)))


def _in_order_of_imports(
    files: Mapping[str, FileDescriptorProto],
) -> Iterator[FileDescriptorProto]:
    """Each file after its imports."""
    left = dict(files)

    def with_imports(name: str) -> Iterator[FileDescriptorProto]:
        file = left.pop(name, None)
        if file is not None:
            for imported in file.dependency:
                yield from with_imports(imported)
            yield file

    for name in files:
        yield from with_imports(name)


def _add(pool: descriptor_pool.DescriptorPool, file: FileDescriptorProto) -> None:
    """Without options that only affect SQL types and whose definition is unavailable."""
    kept = [name for name in file.dependency if name != "confluent/meta.proto"]
    public = [kept.index(file.dependency[i]) for i in file.public_dependency]
    file.ClearField("dependency")
    file.ClearField("public_dependency")
    file.ClearField("weak_dependency")
    file.dependency.extend(kept)
    file.public_dependency.extend(public)
    for message in file.message_type:
        _strip(message)
    pool.AddSerializedFile(file.SerializeToString())


def _strip(message: DescriptorProto) -> None:
    for field in message.field:
        del field.options.uninterpreted_option[:]
    for nested in message.nested_type:
        _strip(nested)


# -- to JSON -------------------------------------------------------------------------------------


def _to_json(message: Message) -> JSON:
    name = message.DESCRIPTOR.full_name
    value: Any = message
    match name:
        case "google.protobuf.Timestamp":
            return value.seconds * 1000 + value.nanos // 1_000_000
        case "google.type.Date":
            return date(value.year, value.month, value.day).toordinal() - _EPOCH
        case "google.type.TimeOfDay":
            seconds = value.hours * 3600 + value.minutes * 60 + value.seconds
            return seconds * 1000 + value.nanos // 1_000_000
        case "confluent.type.Decimal":
            unscaled = int.from_bytes(value.value, "big", signed=True)
            return Decimal(unscaled).scaleb(-value.scale)
    if _is_wrapper(message.DESCRIPTOR):
        return _scalar(message.DESCRIPTOR.fields[0], value.value)
    return {field.name: _field(message, field) for field in message.DESCRIPTOR.fields}


def _is_wrapper(descriptor: Any) -> bool:
    return bool(descriptor.file.name == wrappers_pb2.DESCRIPTOR.name)


def _field(message: Message, field: Field) -> JSON:
    value = getattr(message, field.name)
    if _is_map(field):
        inner = field.message_type.fields_by_name["value"]
        return {str(k): _single(inner, value[k]) for k in value}
    if field.is_repeated:
        return [_single(field, v) for v in value]
    unset = field.has_presence and not message.HasField(field.name)
    if unset or (field.type == FieldDescriptor.TYPE_BYTES and not value):
        return None
    return _single(field, value)


def _is_map(field: Field) -> bool:
    kind = field.message_type
    return bool(field.is_repeated and kind is not None and kind.GetOptions().map_entry)


def _single(field: Field, value: Any) -> JSON:
    return _to_json(value) if field.message_type is not None else _scalar(field, value)


def _scalar(field: Field, value: Any) -> JSON:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if field.enum_type is not None:
        symbol = field.enum_type.values_by_number.get(value)
        return symbol.name if symbol is not None else value
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


# -- from JSON -----------------------------------------------------------------------------------


def _fill(message: Any, value: JSON) -> None:
    """Sets the message from a JSON value; null leaves it unchanged."""
    target: Any = message
    match message.DESCRIPTOR.full_name:
        case "google.protobuf.Timestamp":
            target.seconds, ms = divmod(int(value), 1000)
            target.nanos = ms * 1_000_000
        case "google.type.Date":
            day = date.fromordinal(int(value) + _EPOCH)
            target.year, target.month, target.day = day.year, day.month, day.day
        case "google.type.TimeOfDay":
            seconds, ms = divmod(int(value), 1000)
            target.hours, target.minutes = seconds // 3600, seconds // 60 % 60
            target.seconds, target.nanos = seconds % 60, ms * 1_000_000
        case "confluent.type.Decimal":
            _fill_decimal(target, Decimal(str(value)))
        case _ if _is_wrapper(message.DESCRIPTOR):
            target.SetInParent()
            target.value = _python(message.DESCRIPTOR.fields[0], value)
        case _:
            target.SetInParent()
            _fill_fields(message, value)


def _fill_decimal(target: Any, value: Decimal) -> None:
    exponent = value.as_tuple().exponent
    scale = max(0, -exponent) if isinstance(exponent, int) else 0
    unscaled = int(value.scaleb(scale))
    target.value = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
    target.precision, target.scale = len(str(abs(unscaled))), scale


def _fill_fields(message: Message, value: JSON) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, found {value!r}")
    given = {str(name).lower(): v for name, v in value.items()}
    for field in message.DESCRIPTOR.fields:
        found = value.get(field.name, given.get(field.name.lower()))
        if found is None:
            continue
        member = getattr(message, field.name)
        if _is_map(field):
            _fill_map(field, member, found)
        elif field.is_repeated:
            for item in found:
                if field.message_type is not None:
                    _fill(member.add(), item)
                else:
                    member.append(_python(field, item))
        elif field.message_type is not None:
            _fill(member, found)
        else:
            setattr(message, field.name, _python(field, found))


def _fill_map(field: Field, member: Any, value: JSON) -> None:
    inner = field.message_type.fields_by_name["value"]
    for key, item in value.items():
        if inner.message_type is not None:
            _fill(member[key], item)
        elif item is not None:
            member[key] = _python(inner, item)


def _python(field: Field, value: JSON) -> Any:
    """A scalar as the field's Python type."""
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING:
            is_bytes = field.type == FieldDescriptor.TYPE_BYTES
            return base64.b64decode(value) if is_bytes else str(value)
        case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
            return float(value)
        case FieldDescriptor.CPPTYPE_BOOL:
            return bool(value)
        case FieldDescriptor.CPPTYPE_ENUM:
            return value if isinstance(value, int) else field.enum_type.values_by_name[value].number
    return int(value)
