"""What serving needs no Spark for: bytes of keys, shapes of statements, tokens, ways to wait."""

from __future__ import annotations

import datetime
import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamsql.catalog import Catalog, Source
from streamsql.errors import ConfigError
from streamsql.parser import parse
from streamsql.planner.plans.routes import KeyRange, WindowRange
from streamsql.planner.plans.statements import PullPlan, ResultOrder
from streamsql.planner.statements import apply, plan
from streamsql.results import Row
from streamsql.schema import Column, Schema
from streamsql.serving.fingerprints import fingerprint_of
from streamsql.serving.key_conditions import simple_scan, without_keys
from streamsql.serving.keys import can_look_up, key_bytes, packed, range_bytes
from streamsql.serving.rows import sorted_rows
from streamsql.serving.table import split
from streamsql.tokens import from_token, to_token
from streamsql.types import DOUBLE


def table(columns: str, properties: str = "KEY_FORMAT='KAFKA'", script: str = "") -> Source:
    """The SOURCE TABLE of these columns, or the one that the script makes as T."""
    catalog = Catalog()
    sql = (
        script
        or f"""
        CREATE SOURCE TABLE t ({columns}) WITH
          (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1, {properties});"""
    )
    for statement in parse(sql):
        apply(plan(statement, catalog, {}), catalog)
    return catalog.get("T")


STREAM = (
    "CREATE STREAM s (a STRING, b INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
)


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("STRING", "é", "é".encode()),
        ("INT", -2, struct.pack(">i", -2)),
        ("BIGINT", 1 << 40, struct.pack(">q", 1 << 40)),
        ("DOUBLE", 0.5, struct.pack(">d", 0.5)),
        ("BYTES", b"\0\1", b"\0\1"),
    ],
)
def test_a_key_in_kafkas_format(type_: str, value: object, expected: bytes) -> None:
    assert key_bytes(table(f"k {type_} PRIMARY KEY, v INT"), [value]) == expected


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("DATE", datetime.date(1970, 1, 3), b"2"),
        ("TIME", datetime.time(0, 0, 1, 5000), b"1005"),
        ("TIMESTAMP", datetime.datetime(1970, 1, 2, 0, 0, 0, 7000), b"86400007"),
        ("TIMESTAMP", datetime.datetime(1969, 12, 31, 23, 59, 59), b"-1000"),
        ("BOOLEAN", True, b"true"),
        ("STRING", 'a"b', b'"a\\"b"'),
    ],
)
def test_a_key_in_json(type_: str, value: object, expected: bytes) -> None:
    source = table(f"k {type_} PRIMARY KEY, v INT", "KEY_FORMAT='JSON'")
    assert key_bytes(source, [value]) == expected


@pytest.mark.parametrize("end", ["", "x", "; x", ";"])
def test_a_shape_takes_no_longer_than_its_text(end: str) -> None:
    sql = "SELECT * FROM t WHERE k = 5".ljust(3_900) + end
    begin = time.thread_time()
    for _ in range(20):
        fingerprint_of(sql)
    assert time.thread_time() - begin < 0.1


def test_where_a_key_can_be_looked_up() -> None:
    assert can_look_up(table("k STRING PRIMARY KEY, v INT"))
    # Others write this topic, with blanks and in any order.
    assert not can_look_up(table("k STRING PRIMARY KEY, v INT", "KEY_FORMAT='JSON'"))
    for key_format, expected in (("JSON", True), ("DELIMITED", True), ("KAFKA", True)):
        made = f"CREATE TABLE t WITH (KEY_FORMAT='{key_format}') AS SELECT a, COUNT(*) FROM s"
        source = table("", script=f"{STREAM}{made} GROUP BY a;")
        assert can_look_up(source) is expected, key_format
    several = (
        f"{STREAM}CREATE TABLE t WITH (KEY_FORMAT='JSON') AS SELECT a, b, COUNT(*) AS n FROM s "
    )
    source = table("", script=several + "GROUP BY a, b;")
    assert key_bytes(source, ["x", 1]) == b'{"A":"x","B":1}'


@pytest.mark.parametrize(
    ("window", "low", "high"),
    [
        (None, 0, (1 << 56) - 1),
        (WindowRange(start_from=20_000, start_to=30_000), 20_000, 30_000),
        (WindowRange(start_from=20_000, end_from=40_000), 30_000, (1 << 56) - 1),
        (WindowRange(start_to=50_000, end_to=40_000), 0, 30_000),
        (WindowRange(start_from=-5), 0, (1 << 56) - 1),
        (WindowRange(end_to=5), 0, 0),
    ],
)
def test_bounds_of_a_time_windows_start(window: WindowRange | None, low: int, high: int) -> None:
    source = table(
        "k STRING PRIMARY KEY, v INT", "WINDOW_TYPE='TUMBLING', WINDOW_SIZE='10 SECONDS'"
    )
    assert packed([b"ab"], source, window) == struct.pack(">qqi", low, high, 2) + b"ab"


@pytest.mark.parametrize("type_", ["SESSION", "CUMULATING"])
def test_bounds_of_a_windows_end(type_: str) -> None:
    source = table("k STRING PRIMARY KEY, v INT", f"WINDOW_TYPE='{type_}'")
    window = WindowRange(start_from=7, end_from=10, end_to=20)
    assert packed([], source, window) == struct.pack(">qq", 10, 20)


@given(st.text(), st.text())
def test_a_range_of_bytes_misses_no_string_between(bound: str, key: str) -> None:
    """Strings are ordered as Java does it: by their UTF-16 units."""
    source = table("k STRING PRIMARY KEY, v INT")
    if any("\ud800" <= c <= "\udfff" for c in bound + key):
        return
    low, high = range_bytes(source, KeyRange(low=bound, high=None))
    if key.encode("utf-16-be") >= bound.encode("utf-16-be"):
        assert low is None or key.encode() >= low
    low, high = range_bytes(source, KeyRange(low=None, high=bound))
    if key.encode("utf-16-be") <= bound.encode("utf-16-be"):
        assert high is None or key.encode() <= high


def test_other_ranges_are_scans() -> None:
    source = table("k STRING PRIMARY KEY, v INT", "KEY_FORMAT='JSON'")
    assert range_bytes(source, KeyRange(low="a", high="b")) == (None, None)


@pytest.mark.parametrize(
    ("where", "keys_only"),
    [
        ("a = 'x' AND b = 1", True),
        ("(2 = b) AND a IN ('x', 'y')", True),
        ("a = 'x' AND b = 1 AND n > 1", False),
        ("a = 'x' AND b = 1 AND a = 'y'", False),
        ("a = 'x' AND b = 1 + 0", False),
        ("a = 'x' AND NOT b IN (1, 2)", False),
        ("a = 'x' AND b = 1 OR a = 'y' AND b = 2", False),
        ("a = 'x'", False),
    ],
)
def test_a_condition_on_keys_alone_is_not_asked_again(where: str, keys_only: bool) -> None:
    catalog = Catalog()
    made = "CREATE TABLE t WITH (KEY_FORMAT='JSON') AS SELECT a, b, COUNT(*) AS n FROM s "
    for statement in parse(f"{STREAM}{made} GROUP BY a, b;"):
        apply(plan(statement, catalog, {}), catalog)
    (asked,) = parse(f"SELECT n FROM t WHERE {where} LIMIT 3;")
    planned = plan(asked, catalog, {})
    assert isinstance(planned, PullPlan)
    found = without_keys(planned)
    assert (found.query.root.inputs[0] == simple_scan(planned.query.root)) is keys_only
    assert (found is planned) is not keys_only
    assert found.schema == planned.schema


def test_shapes_differ_in_all_but_literals() -> None:
    one = fingerprint_of("SELECT a1, `b 2` FROM t WHERE k = 'it''s' AND n > -1.5e3 LIMIT 10;")
    two = fingerprint_of("  SELECT a1, `b 2` FROM t WHERE k = '' AND n > -7 LIMIT 3 ")
    assert one is not None and two is not None
    assert one.text == two.text
    assert [x.written for x in one.literals] == ["'it''s'", "1.5e3", "10"]
    assert [x.text for x in one.literals if x.is_text] == ["it's"]
    for other in (
        "SELECT a1, `b 2` FROM t WHERE k = 1 AND n > -7 LIMIT 3",
        "SELECT a1, `b 2` FROM t WHERE k = '' AND n > 7 LIMIT 3",
        "SELECT a2, `b 2` FROM t WHERE k = '' AND n > -7 LIMIT 3",
        "SELECT a1, `b 3` FROM t WHERE k = '' AND n > -7 LIMIT 3",
    ):
        found = fingerprint_of(other)
        assert found is not None and found.text != one.text, other


@pytest.mark.parametrize(
    "sql",
    [
        "SHOW TABLES;",
        "SELECT * FROM t -- 'x'\n WHERE k = 1;",
        "SELECT * FROM t /* ' */ WHERE k = 1;",
        "SELECT * FROM t WHERE k = '${v}' AND ${w};",
        "SELECT * FROM t WHERE k = 'open;",
        "SELECT '" + "x" * 5000 + "' FROM t;",
    ],
)
def test_what_has_no_shape(sql: str) -> None:
    assert fingerprint_of(sql) is None


def test_rows_are_sorted_as_spark_does() -> None:
    nan = float("nan")
    values = [2.0, None, nan, -1.0, None]
    schema = Schema((Column("X", DOUBLE),))
    rows = [Row((value,)) for value in values]
    for order, expected in (
        (ResultOrder("X"), "[-1.0, 2.0, nan, None, None]"),
        (ResultOrder("X", descending=True, nulls_first=True), "[None, None, nan, 2.0, -1.0]"),
    ):
        assert str([row.values[0] for row in sorted_rows(rows, [order], schema)]) == expected
    lists = [Row(([1, None],)), Row(([1, "b"],)), Row(([0, "c"],))]
    found = sorted_rows(lists, [ResultOrder("X")], schema)
    assert [row.values[0] for row in found] == [[0, "c"], [1, None], [1, "b"]]


def test_tokens() -> None:
    offsets = {"täble": {0: 5, 3: 1 << 40}, "u": {1: 2}}
    assert from_token(to_token(offsets)) == offsets
    both = from_token(f"{to_token(offsets)}, {to_token({'u': {1: 1, 2: 9}})}")
    assert both == {**offsets, "u": {1: 2, 2: 9}}
    for wrong in ("x", "=", "e30x", to_token({"a": {0: 1}})[:-3], "WzFd", "eyJhIjp7IjAiOiJ4In19"):
        with pytest.raises(ConfigError, match="token"):
            from_token(wrong)


def test_pieces_of_bytes() -> None:
    parts = [b"", b"ab", b"\0" * 300]
    assert split(b"".join(struct.pack(">i", len(p)) + p for p in parts)) == parts
