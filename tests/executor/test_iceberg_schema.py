"""The schema of a table of Iceberg that a sink creates."""

from __future__ import annotations

import json

import pytest
from pyiceberg.schema import Schema

from streamsql.errors import InternalError
from streamsql.executor.operators.iceberg_sink import iceberg_schema
from streamsql.schema import Column
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    INTERVAL_UNIT,
    STRING,
    TIME,
    TIMESTAMP,
    array,
    decimal,
    map_,
    struct,
)

PRIMITIVES = {
    BOOLEAN: "boolean",
    INT: "int",
    BIGINT: "long",
    DOUBLE: "double",
    decimal(8, 2): "decimal(8, 2)",
    STRING: "string",
    BYTES: "binary",
    DATE: "date",
    TIME: "time",
    TIMESTAMP: "timestamptz",
}


def _schema(*columns: Column, keys: tuple[str, ...] = ()) -> Schema:
    return Schema.model_validate_json(iceberg_schema(columns, keys))


def test_every_type_has_one_of_iceberg() -> None:
    columns = [Column(f"C{n}", t) for n, t in enumerate(PRIMITIVES)]
    fields = _schema(*columns).fields
    assert [field.name for field in fields] == [f"c{n}" for n in range(len(PRIMITIVES))]
    assert [str(field.field_type) for field in fields] == list(PRIMITIVES.values())
    with pytest.raises(InternalError):
        _schema(Column("C", INTERVAL_UNIT))


def test_nested_types_have_ids_of_their_own() -> None:
    place = struct([("CITY", STRING), ("Odd", array(map_(STRING, TIME)))])
    schema = _schema(Column("ID", INT), Column("PLACE", place))
    assert set(schema._lazy_id_to_name.values()) == {
        *("id", "place", "place.city", "place.Odd", "place.Odd.element"),
        *("place.Odd.element.key", "place.Odd.element.value"),
    }


def test_keys_are_required_and_identify_rows() -> None:
    schema = _schema(Column("ID", INT), Column("odd Name", STRING), Column("V", INT), keys=("ID",))
    assert schema.identifier_field_names() == {"id"}
    assert [field.required for field in schema.fields] == [True, False, False]
    assert "identifier-field-ids" not in json.loads(iceberg_schema([Column("V", INT)], ()))
