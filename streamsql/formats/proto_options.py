"""The relevant options of .proto files."""

from __future__ import annotations

from google.protobuf.descriptor_pb2 import FeatureSet, FieldDescriptorProto

from streamsql.formats.proto_literals import default_text, text_of

FIELD_META = "confluent.field_meta"
"""The option of a field with further properties of its type, such as a DECIMAL's scale."""

FEATURES = "features."
"""Prefix of an edition's options."""


def set_feature(features: FeatureSet, name: str, value: str) -> None:
    """ValueError if an edition has no such feature, or the feature no such value."""
    feature = FeatureSet.DESCRIPTOR.fields_by_name.get(name.removeprefix(FEATURES))
    if (
        feature is None
        or feature.enum_type is None
        or value not in feature.enum_type.values_by_name
    ):
        raise ValueError(name)
    setattr(features, feature.name, feature.enum_type.values_by_name[value].number)


def set_option(field: FieldDescriptorProto, name: str, value: list[str]) -> None:
    """Sets a field's option, if it is relevant; ValueError if invalid."""
    match name:
        case "packed":
            field.options.packed = value == ["true"]
        case "deprecated":
            field.options.deprecated = value == ["true"]
        case "json_name":
            field.json_name = text_of(value).decode()
        case _ if name.startswith(FEATURES):
            set_feature(field.options.features, name, " ".join(value))
        case "default":
            field.default_value = default_text(field, value)
        case _ if name.startswith(FIELD_META):
            # Stored as text, where the linker does not look for its definition.
            text = " ".join(value).encode()
            part = field.options.uninterpreted_option.add(string_value=text)
            part.name.add(name_part=name, is_extension=True)
