"""Which columns a format can hold, and what it says about others."""

from __future__ import annotations

import pytest

from streamsql.errors import ConfigError, PlanError
from streamsql.formats import FORMATS, Side, format_named
from streamsql.schema import Column
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    SQLType,
    array,
    decimal,
    map_,
    struct,
)

PRIMITIVES = [BOOLEAN, INT, BIGINT, DOUBLE, decimal(9, 2), STRING, BYTES, DATE, TIME, TIMESTAMP]
NESTED = [array(INT), map_(STRING, INT), struct([("A", INT)])]


def _holds(name: str, *types: SQLType) -> bool:
    columns = [Column(f"C{i}", t) for i, t in enumerate(types)]
    return FORMATS[name].problem(columns) is None


@pytest.mark.parametrize("t", [*PRIMITIVES, *NESTED], ids=str)
def test_json_holds_every_type(t: SQLType) -> None:
    assert _holds("JSON", t, t)


def test_json_maps_have_text_keys_at_any_depth() -> None:
    assert not _holds("JSON", map_(INT, INT))
    assert not _holds("JSON", array(struct([("A", map_(INT, INT))])))
    assert not _holds("JSON", map_(STRING, map_(BIGINT, INT)))


def test_delimited_holds_no_nested_types() -> None:
    assert _holds("DELIMITED", *PRIMITIVES)
    assert not any(_holds("DELIMITED", t) for t in NESTED)


def test_kafka_holds_one_simple_column() -> None:
    held = [INT, BIGINT, DOUBLE, STRING, BYTES]
    assert all(_holds("KAFKA", t) == (t in held) for t in [*PRIMITIVES, *NESTED])
    assert _holds("KAFKA")
    assert not _holds("KAFKA", INT, INT)


def test_none_holds_nothing() -> None:
    assert _holds("NONE")
    assert not _holds("NONE", INT)


def test_a_column_that_does_not_fit_is_named() -> None:
    with pytest.raises(PlanError) as raised:
        FORMATS["DELIMITED"].check([Column("A", INT), Column("B", array(INT))], Side.VALUE)
    assert raised.value.message == (
        "Value format does not support schema. format: DELIMITED, "
        "reason: The 'DELIMITED' format does not support type 'ARRAY', column: `B`"
    )


@pytest.mark.parametrize(
    ("name", "wrap", "allowed"),
    [
        ("JSON", True, True),
        ("JSON", False, True),
        ("DELIMITED", False, True),
        ("DELIMITED", True, False),
        ("KAFKA", True, False),
        ("NONE", False, False),
    ],
)
def test_wrapping_of_single_values(name: str, wrap: bool, allowed: bool) -> None:
    if allowed:
        FORMATS[name].check_wrap(wrap)
    else:
        with pytest.raises(PlanError, match="does not support 'WRAP_SINGLE_VALUE'"):
            FORMATS[name].check_wrap(wrap)


def test_names_are_found_in_any_case() -> None:
    assert format_named("json") is FORMATS["JSON"]


def test_an_unknown_format_suggests_another() -> None:
    with pytest.raises(ConfigError) as raised:
        format_named("delimted")
    assert raised.value.message == "Unknown format: DELIMTED"
    assert raised.value.hint == "Did you mean DELIMITED?"
