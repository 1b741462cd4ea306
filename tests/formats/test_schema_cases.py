"""Runs tests/cases/formats: `avro`, `protobuf` and `json` blocks of columns and their schema,
`columns` blocks of a schema and its columns, and `proto` blocks of .proto text as it is printed."""

from __future__ import annotations

import json

import pytest
from datadriven import Case, cases, check

from streamsql.errors import StreamSQLError
from streamsql.formats import FORMATS
from streamsql.formats.proto_parser import parse_proto
from streamsql.formats.proto_printer import print_proto
from streamsql.formats.registered import SchemaText
from streamsql.nodes import CreateSource
from streamsql.parser import parse_one
from streamsql.schema import Column
from streamsql.types import quote, to_sql

_FORMATS = {"AVRO": "AVRO", "PROTOBUF": "PROTOBUF", "JSON": "JSON_SR"}


def columns_of(ddl: str) -> list[Column]:
    statement = parse_one(f"CREATE STREAM S ({ddl}) WITH (KAFKA_TOPIC='s');")
    assert isinstance(statement, CreateSource)
    return [Column(c.name, c.type) for c in statement.columns]


def schema_case(case: Case) -> str:
    """The schema; whose columns are, by the way, those that it was made of."""
    columns = columns_of(case.input)
    schema_type = case.directive.upper()
    chosen = FORMATS[_FORMATS[schema_type]]
    problem = chosen.problem(columns)
    if problem is not None:
        return problem
    options = {k: v for k, v in case.args.items() if v}
    wrapped = "lone" not in case.args
    text = chosen.schema_of(columns, options, wrapped=wrapped)
    lone = None if wrapped else columns[0].name
    found = chosen.columns_of(SchemaText(schema_type, text), options, lone, upper=False)
    assert found == [(c.name, c.type) for c in columns]
    return text if schema_type == "PROTOBUF" else json.dumps(json.loads(text), indent=1)


def columns_case(case: Case) -> str:
    schema_type = case.args["of"].upper()
    options = {k: v for k, v in case.args.items() if v and k != "of"}
    lone = "ROWVAL" if "lone" in case.args else None
    schema = SchemaText(schema_type, case.input)
    try:
        chosen = FORMATS[_FORMATS[schema_type]]
        found = chosen.columns_of(schema, options, lone, upper="exact" not in case.args)
    except StreamSQLError as error:
        return "\n".join(filter(None, (f"{error.kind}: {error.message}", error.hint)))
    return "\n".join(f"{quote(name)} {to_sql(kind)}" for name, kind in found)


def proto_case(case: Case) -> str:
    try:
        printed = print_proto(parse_proto(case.input))
    except StreamSQLError as error:
        return f"{error.kind}: {error.message}"
    assert print_proto(parse_proto(printed)) == printed
    return printed


HANDLERS = {
    "avro": schema_case,
    "protobuf": schema_case,
    "json": schema_case,
    "columns": columns_case,
    "proto": proto_case,
}


@pytest.mark.parametrize("case", cases("formats"))
def test_schemas(case: Case, rewrite: bool) -> None:
    check(case, HANDLERS, rewrite)
