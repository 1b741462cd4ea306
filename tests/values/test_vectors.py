"""The forms of values are those of the vectors that the JVM codecs are held to as well."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta, timezone
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from streamsql import types
from streamsql.client.arrow import arrow_table
from streamsql.load.encoding import json_values, of_arrow
from streamsql.parser import parse_type
from streamsql.results import Field
from streamsql.schema import Column, FormatSpec, Namespace, Schema, Topic
from streamsql.types import SQLType
from streamsql.values.nested import is_scalar, json_writer, scalar
from streamsql.values.records import key_encoder, pack, unpack, value_encoder
from streamsql.values.scalars import scalar_of
from streamsql.values.wire import decoder, encoder

VECTORS = json.loads((Path(__file__).parent.parent / "cases/codecs/values.json").read_text())


def record(t: SQLType, value: Any, name: str, **properties: str) -> bytes | None:
    topic = Topic("t", FormatSpec("NONE"), FormatSpec(name, properties))
    return value_encoder(topic, Schema((Column("V", t),)))({"V": value})


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['type']} {v['json'][:30]!r}")
def test_forms(vector: Mapping[str, Any]) -> None:
    kind = parse_type(vector["type"])
    value = decoder(kind)(vector["wire"])
    assert json.dumps(encoder(kind)(value)) == json.dumps(vector["wire"])
    assert json_writer(kind, attrgetter("json"))(value) == vector["json"]
    assert record(kind, value, "JSON") == vector["JSON"].encode()
    bare = json.dumps(json.loads(vector["JSON"])["V"])
    unwrapped = record(kind, value, "JSON", wrap="false") or b""
    assert json.dumps(json.loads(unwrapped)) == bare
    if not is_scalar(kind):
        return
    form = scalar(kind)
    assert form.text(value) == vector["text"]
    assert repr(form.of_text(vector["text"])) == repr(value)
    assert repr(form.of_packed(form.packed(value))) == repr(value)
    assert record(kind, value, "DELIMITED") == vector["DELIMITED"].encode()
    # Of a value without its column only the class is known: an INTEGER is as a BIGINT.
    assert scalar_of(value).text(value) == vector["text"]
    if "KAFKA" in vector:
        assert pack(kind, value).hex() == vector["KAFKA"]
        assert repr(unpack(kind, bytes.fromhex(vector["KAFKA"]))) == repr(value)


def test_every_type_has_vectors() -> None:
    tested = {parse_type(v["type"]).this for v in VECTORS}
    assert tested >= {t.this for t in types.PRIMITIVES.values()}


def test_a_null_key_of_a_map_is_the_word() -> None:
    kind = types.map_(types.STRING, types.INT)
    assert record(kind, {None: 1, "a": None}, "JSON") == b'{"V":{"null":1,"a":null}}'
    assert json_writer(kind, attrgetter("json"))({None: 1}) == '{"null":1}'


def test_a_key_of_nulls_is_no_key() -> None:
    schema = Schema((Column("K", types.INT, Namespace.KEY),))
    topic = Topic("t", FormatSpec("KAFKA"), FormatSpec("JSON"))
    assert key_encoder(topic, schema)({"K": None}) is None


def test_a_stream_without_key_columns_has_no_keys_in_any_format() -> None:
    topic = Topic("t", FormatSpec("JSON"), FormatSpec("JSON"))
    assert key_encoder(topic, Schema((Column("V", types.INT),)))({"V": 1}) is None


def test_times_of_other_zones_and_of_more_digits_keep_their_moment() -> None:
    east = datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert scalar_of(east).text(east) == "2024-01-01T00:00:00.000"
    assert scalar_of(east).packed(east) == scalar_of(east).packed(east.astimezone(UTC))
    exact = time(1, 2, 3, 4)
    assert scalar_of(exact).of_text(scalar_of(exact).text(exact)) == exact


LOADED = [v for v in VECTORS if v.get("text", "NaN") not in ("NaN", "Infinity", "-Infinity")]
"""Columns with parts are loaded as documents, numbers that are none as nulls."""


@pytest.mark.parametrize("vector", LOADED, ids=lambda v: f"{v['type']} {v['json'][:30]!r}")
def test_a_typed_file_is_loaded_as_records_hold_it(vector: Mapping[str, Any]) -> None:
    """Whole columns are encoded by Arrow, apart from the table of forms."""
    kind = parse_type(vector["type"])
    table = arrow_table([Field("V", kind)], [(decoder(kind)(vector["wire"]),)])
    cells = of_arrow(table.column("V").combine_chunks())
    (loaded,) = json_values({"V": cells})
    digits = float if kind == types.DOUBLE else str
    expected = json.loads(vector["JSON"], parse_float=digits)
    assert json.loads(loaded, parse_float=digits) == expected
