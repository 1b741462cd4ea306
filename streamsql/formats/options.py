"""Names of the options of formats with schemas, as in FormatSpec.properties."""

from __future__ import annotations

FULL_NAME = "full_name"
"""The record's, message's or title's full name in the schema."""
SCHEMA_ID = "schema_id"
"""The id of a registered schema to write by."""
NULLABLE = "nullable"
"""OPTIONAL or WRAPPER: how Protobuf distinguishes null from zero."""

WITH_NAMES = {
    FULL_NAME: "SCHEMA_FULL_NAME",
    SCHEMA_ID: "SCHEMA_ID",
    NULLABLE: "PROTOBUF_NULLABLE_REPRESENTATION",
}
"""Each option's property in WITH, after KEY_ or VALUE_."""
REPORTED_NAMES = {
    FULL_NAME: "fullSchemaName",
    SCHEMA_ID: "schemaId",
    NULLABLE: "nullableRepresentation",
}
"""The name of each option in messages."""
