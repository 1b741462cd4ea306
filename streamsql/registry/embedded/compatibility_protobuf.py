"""Which changes of a Protobuf schema keep its bytes readable."""

from __future__ import annotations

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from streamsql.formats.proto_parser import SCALARS, parse_proto

_F = FieldDescriptorProto
_GROUPS: tuple[frozenset[int], ...] = tuple(
    frozenset(SCALARS[name] for name in names)
    for names in (
        ("int32", "uint32", "int64", "uint64", "bool"),
        ("sint32", "sint64"),
        ("string", "bytes"),
        ("fixed32", "sfixed32"),
        ("fixed64", "sfixed64"),
    )
)
"""Scalars that are read in each other's place."""


def protobuf_problems(reader: str, writer: str) -> list[str]:
    """Parts of the writer's messages that the reader would misread."""
    read, written = parse_proto(reader), parse_proto(writer)
    found: list[str] = []
    if read.package != written.package:
        found.append(f"PACKAGE_CHANGED: {written.package or 'none'} to {read.package or 'none'}")
    _messages(list(read.message_type), list(written.message_type), "", found)
    return found


def _messages(
    read: list[DescriptorProto], written: list[DescriptorProto], path: str, found: list[str]
) -> None:
    by_name = {m.name: m for m in read}
    for message in written:
        place = f"{path}/{message.name}"
        now = by_name.get(message.name)
        if now is None:
            found.append(f"MESSAGE_REMOVED at {place}")
            continue
        _fields(now, message, place, found)
        _messages(list(now.nested_type), list(message.nested_type), place, found)


def _fields(read: DescriptorProto, written: DescriptorProto, path: str, found: list[str]) -> None:
    before = {f.number: f for f in written.field}
    now = {f.number: f for f in read.field}
    for number, field in now.items():
        place = f"{path}/{number}"
        old = before.get(number)
        if old is None:
            if field.label == _F.LABEL_REQUIRED:
                found.append(f"REQUIRED_FIELD_ADDED at {place}: {field.name}")
            continue
        _kind(field, old, place, found)
    for number, field in before.items():
        if number not in now and field.label == _F.LABEL_REQUIRED:
            found.append(f"REQUIRED_FIELD_REMOVED at {path}/{number}: {field.name}")
        if number not in now and _in_oneof(field):
            found.append(f"ONEOF_FIELD_REMOVED at {path}/{number}: {field.name}")
    joined = [
        n for n, f in now.items() if _in_oneof(f) and n in before and not _in_oneof(before[n])
    ]
    if len(joined) > 1:
        found.append(f"MULTIPLE_FIELDS_MOVED_TO_ONEOF at {path}")


def _in_oneof(field: FieldDescriptorProto) -> bool:
    return field.HasField("oneof_index") and not field.proto3_optional


def _kind(
    now: FieldDescriptorProto, old: FieldDescriptorProto, path: str, found: list[str]
) -> None:
    if bool(now.type_name) != bool(old.type_name):
        found.append(f"FIELD_KIND_CHANGED at {path}: {now.name}")
    elif now.type_name:
        if now.type_name.split(".")[-1] != old.type_name.split(".")[-1]:
            found.append(f"FIELD_NAMED_TYPE_CHANGED at {path}: {now.name}")
    elif now.type != old.type:
        if not any(now.type in group and old.type in group for group in _GROUPS):
            found.append(f"FIELD_SCALAR_KIND_CHANGED at {path}: {now.name}")
    repeated = now.label == _F.LABEL_REPEATED
    texts = (_F.TYPE_STRING, _F.TYPE_BYTES)
    if repeated != (old.label == _F.LABEL_REPEATED) and not (
        now.type_name or (now.type in texts and old.type in texts)
    ):
        found.append(f"FIELD_NUMERIC_LABEL_CHANGED at {path}: {now.name}")
