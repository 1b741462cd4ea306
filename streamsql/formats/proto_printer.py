"""Writes a FileDescriptorProto as .proto text; deterministic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from streamsql.formats.proto_literals import quoted
from streamsql.formats.proto_options import FEATURES
from streamsql.formats.proto_parser import SCALARS

_F = FieldDescriptorProto
_WORDS = frozenset(
    "enum extend extensions group map message oneof option optional repeated required reserved"
    " stream".split()
)
"""Keywords that do not begin a field."""
_NAMES = {number: name for name, number in SCALARS.items()}


def print_proto(file: FileDescriptorProto) -> str:
    """The text; what `parse_proto` skips is missing."""
    file = _with_short_names(file)
    editions = file.syntax == "editions"
    lines = ['edition = "2023";' if editions else f'syntax = "{file.syntax or "proto2"}";']
    if file.package:
        lines.append(f"package {file.package};")
    if file.dependency:
        lines.append("")
    for number, name in enumerate(file.dependency):
        public = "public " if number in file.public_dependency else ""
        weak = "weak " if number in file.weak_dependency else ""
        lines.append(f"import {public}{weak}{quoted(name)};")
    features = _features(file.options.features)
    if features:
        lines += ["", *(f"option {feature};" for feature in features)]
    for message in file.message_type:
        lines += ["", *_message(message, file.syntax)]
    for enum in file.enum_type:
        lines += ["", *_enum(enum)]
    return "\n".join(lines) + "\n"


def _with_short_names(file: FileDescriptorProto) -> FileDescriptorProto:
    """A copy in which full names of types omit their dot if that is equivalent."""
    copy = FileDescriptorProto()
    copy.CopyFrom(file)
    messages = list(_all_messages(copy.message_type))
    top, *inner = copy.package.split(".")
    declared = [m.name for m in messages] + [e.name for m in messages for e in m.enum_type]
    declared += [*inner, *(e.name for e in copy.enum_type), *([top] if top else ())]
    for message in messages:
        for field in message.field:
            first = field.type_name.lstrip(".").split(".")[0]
            if declared.count(first) < 2 and first not in _WORDS:
                field.type_name = field.type_name.removeprefix(".")
    return copy


def _all_messages(messages: Iterable[DescriptorProto]) -> Iterator[DescriptorProto]:
    for message in messages:
        yield message
        yield from _all_messages(message.nested_type)


def _message(message: DescriptorProto, syntax: str) -> list[str]:
    entries = {n.name: n for n in message.nested_type if n.options.map_entry}
    lines = [f"message {message.name} {{"]
    printed: set[int] = set()
    nested = iter(message.nested_type)
    for field in message.field:
        if _entry(field, entries) is not None:
            lines += _nested(nested, syntax, before=_entry(field, entries))
        if not field.HasField("oneof_index") or field.proto3_optional:
            lines.append("  " + _field(field, entries, syntax))
        elif field.oneof_index not in printed:
            printed.add(field.oneof_index)
            lines.append(f"  oneof {message.oneof_decl[field.oneof_index].name} {{")
            lines += [
                "    " + _field(member, entries, "proto3")
                for member in message.field
                if member.HasField("oneof_index") and member.oneof_index == field.oneof_index
            ]
            lines.append("  }")
    lines += _nested(nested, syntax)
    for enum in message.enum_type:
        lines += ["", *("  " + line for line in _enum(enum))]
    return [*lines, "}"]


def _nested(
    messages: Iterator[DescriptorProto], syntax: str, before: DescriptorProto | None = None
) -> Iterator[str]:
    """The next nested messages. Each keeps its place among the entries of maps, since records refer
    to messages by their index."""
    for message in messages:
        if message is before:
            return
        if not message.options.map_entry:
            yield ""
            yield from ("  " + line for line in _message(message, syntax))


def _entry(
    field: FieldDescriptorProto, entries: dict[str, DescriptorProto]
) -> DescriptorProto | None:
    """Message of a map's entries."""
    repeated = field.label == _F.LABEL_REPEATED
    return entries.get(field.type_name.split(".")[-1]) if repeated else None


def _field(field: FieldDescriptorProto, entries: dict[str, DescriptorProto], syntax: str) -> str:
    entry = _entry(field, entries)
    if entry is not None:
        key, value = entry.field
        kind, label = f"map<{_type(key)}, {_type(value)}>", ""
    else:
        kind, label = _type(field), _label(field, syntax)
    return f"{label}{kind} {field.name} = {field.number}{_options(field)};"


def _label(field: FieldDescriptorProto, syntax: str) -> str:
    if field.label == _F.LABEL_REPEATED:
        return "repeated "
    if field.label == _F.LABEL_REQUIRED:
        return "required "
    return "optional " if field.proto3_optional or syntax not in ("proto3", "editions") else ""


def _type(field: FieldDescriptorProto) -> str:
    return field.type_name or _NAMES[field.type]


def _options(field: FieldDescriptorProto) -> str:
    options = []
    if field.options.HasField("packed"):
        options.append(f"packed = {str(field.options.packed).lower()}")
    if field.HasField("default_value"):
        options.append(f"default = {_default(field)}")
    if field.HasField("json_name"):
        options.append(f"json_name = {quoted(field.json_name)}")
    if field.options.deprecated:
        options.append("deprecated = true")
    options += _features(field.options.features)
    for option in field.options.uninterpreted_option:
        options.append(f"({option.name[0].name_part}) = {option.string_value.decode()}")
    return f" [{', '.join(options)}]" if options else ""


def _features(features: FeatureSet) -> list[str]:
    """Options of an edition: `features.field_presence = IMPLICIT`."""
    found = []
    for feature, number in features.ListFields():
        if feature.enum_type is not None:
            value = feature.enum_type.values_by_number[number].name
            found.append(f"{FEATURES}{feature.name} = {value}")
    return found


def _default(field: FieldDescriptorProto) -> str:
    if field.type == _F.TYPE_BYTES:
        return f'"{field.default_value}"'
    return quoted(field.default_value) if field.type == _F.TYPE_STRING else field.default_value


def _enum(enum: EnumDescriptorProto) -> list[str]:
    lines = [f"enum {enum.name} {{"]
    if enum.options.allow_alias:
        lines.append("  option allow_alias = true;")
    lines += [f"  {value.name} = {value.number};" for value in enum.value]
    return [*lines, "}"]
