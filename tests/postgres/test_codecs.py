"""Values as clients read and write them: text and binary are the same values."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamsql import types
from streamsql.errors import UnsupportedError
from streamsql.postgres.values import scalars
from streamsql.postgres.values.literals import literal
from streamsql.postgres.values.types import (
    PgType,
    decoder,
    encoder,
    of_record,
    parameter_type,
    type_of,
)

MILLIS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
VALUES: list[tuple[types.SQLType, st.SearchStrategy[Any]]] = [
    (types.BOOLEAN, st.booleans()),
    (types.INT, st.integers(-(2**31), 2**31 - 1)),
    (types.BIGINT, st.integers(-(2**63), 2**63 - 1)),
    (types.DOUBLE, st.floats(allow_nan=False)),
    (types.decimal(38, 9), st.decimals(allow_nan=False, allow_infinity=False, places=9)),
    (types.STRING, TEXTS),
    (types.BYTES, st.binary()),
    (types.DATE, st.dates()),
    (types.TIME, st.times()),
    (types.TIMESTAMP, MILLIS),
    (types.array(types.STRING), st.lists(st.none() | TEXTS)),
    (types.array(types.TIMESTAMP), st.lists(st.none() | MILLIS)),
    (types.array(types.BYTES), st.lists(st.none() | st.binary())),
    (
        types.array(types.array(types.STRING)),
        st.integers(1, 3).flatmap(
            lambda size: st.lists(st.lists(st.none() | TEXTS, min_size=size, max_size=size))
        ),
    ),
]


@pytest.mark.parametrize("format", [0, 1])
@pytest.mark.parametrize(
    ("kind", "strategy"), VALUES, ids=[types.to_sql(kind) for kind, _ in VALUES]
)
def test_values_come_back(
    kind: types.SQLType, strategy: st.SearchStrategy[Any], format: int
) -> None:
    write, read = encoder(kind, format), decoder(type_of(kind), format)

    @settings(max_examples=15)
    @given(strategy)
    def check(value: Any) -> None:
        assert read(write(value)) == value

    check()


@pytest.mark.parametrize("format", [0, 1])
@given(data=st.binary(max_size=40), array=st.booleans(), codec=st.sampled_from(scalars.CODECS))
def test_any_bytes_are_a_value_or_refused(
    format: int, data: bytes, array: bool, codec: scalars.ScalarCodec
) -> None:
    try:
        literal(decoder(PgType(codec, array=array), format)(data))
    except (ValueError, OverflowError, ArithmeticError):
        pass


@pytest.mark.parametrize(
    ("value", "binary"),
    [
        ("0", "0000000000000000"),
        ("1", "00010000000000000001"),
        ("-12345.6789", "000300014000000400010929" + "1a85"),
        ("0.00000001", "0001fffe0000000800" + "01"),
        ("10000", "00010001000000000001"),
        ("1.50", "000200000000000200011388"),
    ],
)
def test_numerics_are_postgresqls(value: str, binary: str) -> None:
    assert scalars.NUMERIC.to_binary(Decimal(value)).hex() == binary
    assert str(scalars.NUMERIC.of_binary(bytes.fromhex(binary))) in (value, "1E-8")


def test_texts() -> None:
    moment = datetime(2024, 2, 29, 12, 0, 0, 123_000)
    assert encoder(types.TIMESTAMP, 0)(moment) == b"2024-02-29 12:00:00.123+00"
    zone = timezone(timedelta(hours=5, minutes=30))
    assert encoder(types.TIMESTAMP, 0, zone)(moment) == b"2024-02-29 17:30:00.123+05:30"
    place = types.struct([("CITY", types.STRING), ("DAYS", types.array(types.INT))])
    assert (
        encoder(place, 0)({"CITY": 'a"b', "DAYS": [1, None]}) == b'{"CITY":"a\\"b","DAYS":[1,null]}'
    )
    assert encoder(place, 1)({"CITY": None, "DAYS": None})[:1] == b"\x01"
    nested = types.array(types.array(types.INT))
    assert encoder(nested, 0)([[1], None]) == b"{{1},NULL}"
    with pytest.raises(UnsupportedError, match="different lengths"):
        encoder(nested, 1)([[1], [2, 3]])
    assert encoder(types.DOUBLE, 0)(float("inf")) == b"Infinity"
    assert encoder(types.STRING, 0)("a\0b") == "a\ufffdb".encode()


_PLACE = types.row(
    [("CITY", types.STRING), ("DAYS", types.array(types.INT)), ("OPEN", types.BOOLEAN)]
)
_HOUSE = types.row([("PLACE", _PLACE), ("SINCE", types.DATE)])


@pytest.mark.parametrize(
    ("kind", "row", "text", "cells"),
    [
        (
            _PLACE,
            {"CITY": 'a "b"', "DAYS": [1, None], "OPEN": True},
            b'("a ""b""","{1,NULL}",t)',
            ['a "b"', "{1,NULL}", "t"],
        ),
        (_PLACE, {"CITY": "", "DAYS": None}, b'("",,)', ["", None, None]),
        (
            _HOUSE,
            {"PLACE": {"CITY": "a,b", "DAYS": []}, "SINCE": date(2024, 1, 2)},
            b'("(""a,b"",{},)",2024-01-02)',
            ['("a,b",{},)', "2024-01-02"],
        ),
    ],
)
def test_rows_are_postgresqls(
    kind: types.SQLType, row: dict[str, Any], text: bytes, cells: list[str | None]
) -> None:
    assert encoder(kind, 0)(row) == text
    assert of_record(text.decode()) == cells


def test_rows_in_binary_form_have_the_type_of_each_field() -> None:
    kind = types.row([("A", types.INT), ("B", types.STRING)])
    assert encoder(kind, 1)({"A": 7}).hex() == "00000002" + "0000001700000004" + "00000007" + (
        "00000019ffffffff"
    )


def test_types() -> None:
    assert type_of(types.decimal(6, 2)).modifier == (6 << 16 | 2) + 4
    assert (type_of(types.array(types.BIGINT)).oid, type_of(types.TIMESTAMP).oid) == (1016, 1184)
    assert type_of(types.map_(types.STRING, types.INT)).oid == 3802
    assert type_of(types.array(types.struct([("A", types.INT)]))).oid == 3807
    assert type_of(types.array(types.row([("A", types.INT)]))).oid == 2287
    assert parameter_type(1007) == PgType(scalars.INT4, array=True)
    assert parameter_type(600) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (-5, "-5"),
        (0.5, "0.5E0"),
        (1e300, "1e+300"),
        (Decimal("1E+2"), "100.0"),
        ("it's", "'it''s'"),
        ("${x}", "'$' || '{x}'"),
        (b"\x00\xff", "TO_BYTES('00ff', 'hex')"),
        (date(2024, 1, 2), "'2024-01-02'"),
        (time(1, 2, 3), "'01:02:03.000'"),
        (datetime(2024, 1, 2, tzinfo=UTC), "'2024-01-02T00:00:00.000'"),
        (["a", None], "ARRAY['a', NULL]"),
    ],
)
def test_literals(value: Any, text: str) -> None:
    assert literal(value) == text


def test_a_number_that_is_none_has_no_literal() -> None:
    with pytest.raises(ValueError, match="is not a number"):
        literal(float("nan"))
