"""protoc's answer to a .proto text, and what of two answers has to be the same."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)
from google.type import date_pb2
from grpc_tools import protoc

NAME = "schema.proto"
_INCLUDED = files("grpc_tools").joinpath("_proto")
_TYPES = Path(date_pb2.__file__).parents[2]
_OWN = {
    "confluent/meta.proto": """syntax = "proto3"; package confluent;
        import "google/protobuf/descriptor.proto";
        message Meta { string doc = 1; map<string, string> params = 2; }
        extend google.protobuf.FieldOptions { Meta field_meta = 1088; }""",
    "confluent/type/decimal.proto": """syntax = "proto3"; package confluent.type;
        message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }""",
}


def compiled(text: str) -> list[FileDescriptorProto] | None:
    """The files that protoc makes of the text, what it imports first; None if it is wrong."""
    with TemporaryDirectory() as folder:
        for name, content in {**_OWN, NAME: text}.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8", newline="")
        result = Path(folder, "descriptors")
        includes = [f"-I{path}" for path in (folder, _INCLUDED, _TYPES)]
        out = f"--descriptor_set_out={result}"
        if protoc.main(["protoc", *includes, "--include_imports", out, NAME]) != 0:
            return None
        return list(FileDescriptorSet.FromString(result.read_bytes()).file)


def linked(
    file: FileDescriptorProto, imported: Iterable[FileDescriptorProto]
) -> FileDescriptorProto:
    """The file with the full names of its types, and without what `parse_proto` reads over."""
    bare = _bare(file)
    pool = descriptor_pool.DescriptorPool()
    for other in imported:
        pool.AddSerializedFile(other.SerializeToString())
    pool.AddSerializedFile(bare.SerializeToString())
    found = FileDescriptorProto()
    pool.FindFileByName(bare.name).CopyToProto(found)
    return found


def _bare(file: FileDescriptorProto) -> FileDescriptorProto:
    bare = FileDescriptorProto()
    bare.CopyFrom(file)
    features = FeatureSet.FromString(bare.options.features.SerializeToString())
    has_features = bare.options.HasField("features")
    for name in ("service", "extension", "options", "source_code_info"):
        bare.ClearField(name)
    if has_features:
        bare.options.features.CopyFrom(features)
    for message in bare.message_type:
        _strip_message(message)
    for enum in bare.enum_type:
        _strip_enum(enum)
    return bare


def _strip_message(message: DescriptorProto) -> None:
    for name in ("extension", "extension_range", "reserved_range", "reserved_name"):
        message.ClearField(name)
    is_entry = message.options.map_entry
    message.ClearField("options")
    if is_entry:
        message.options.map_entry = True
    for field in message.field:
        _strip_field(field)
    for nested in message.nested_type:
        _strip_message(nested)
    for enum in message.enum_type:
        _strip_enum(enum)
    for oneof in message.oneof_decl:
        oneof.ClearField("options")


def _strip_field(field: FieldDescriptorProto) -> None:
    given = field.options
    kept = {name: getattr(given, name) for name in ("packed", "deprecated") if given.HasField(name)}
    features = FeatureSet.FromString(given.features.SerializeToString())
    has_features = given.HasField("features")
    field.ClearField("options")
    if has_features:
        field.options.features.CopyFrom(features)
    for name, value in kept.items():
        setattr(field.options, name, value)
    if not field.HasField("json_name"):
        # protoc always says it.
        first, *words = field.name.split("_")
        field.json_name = first + "".join(w[:1].upper() + w[1:] for w in words)


def _strip_enum(enum: EnumDescriptorProto) -> None:
    for name in ("reserved_range", "reserved_name"):
        enum.ClearField(name)
    has_aliases = enum.options.allow_alias
    enum.ClearField("options")
    if has_aliases:
        enum.options.allow_alias = True
    for value in enum.value:
        value.ClearField("options")
