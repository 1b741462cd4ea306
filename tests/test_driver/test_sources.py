"""What tests say of streams and tables."""

from __future__ import annotations

from typing import Any

import pytest

from streamsql.catalog import Catalog
from streamsql.parser import parse
from streamsql.planner.statements import apply, plan
from streamsql.test_driver.sources import describe, source_differences

SQL = """
CREATE TABLE T (`k` INT PRIMARY KEY, A ARRAY<STRUCT<B DECIMAL(4, 2)>>)
  WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE STREAM S (K STRING KEY, V INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE W AS SELECT K, COUNT(*) AS N FROM S WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY K;
"""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    catalog = Catalog()
    for statement in parse(SQL):
        apply(plan(statement, catalog, {}), catalog)
    return catalog


WINDOWED = {"format": "KAFKA", "windowType": "TUMBLING", "windowSize": 10_000}


@pytest.mark.parametrize(
    "said",
    [
        {"name": "T"},
        {"name": "T", "type": "TABLE", "keyFormat": {"format": "KAFKA"}},
        {"name": "T", "schema": "`k` INTEGER KEY, A ARRAY<STRUCT<B DECIMAL(4,2)>>"},
        {"name": "T", "schema": "`k` INT PRIMARY KEY, `A` ARRAY<STRUCT<`B` DECIMAL(4, 2)>>"},
        {"name": "W", "type": "table", "schema": "K STRING KEY, N BIGINT", "keyFormat": WINDOWED},
        {"name": "S", "valueFormat": "AVRO", "valueFeatures": []},
    ],
)
def test_so_it_is(catalog: Catalog, said: dict[str, Any]) -> None:
    assert source_differences([said], catalog) == []


@pytest.mark.parametrize(
    ("said", "difference"),
    [
        ({"name": "X"}, "does not exist"),
        ({"name": "S", "type": "table"}, "expected a table, found a stream"),
        ({"name": "S", "schema": "K STRING KEY, V BIGINT"}, "expected schema"),
        ({"name": "S", "schema": "K STRING, V INT"}, "expected schema"),
        ({"name": "S", "schema": "V INT, K STRING KEY"}, "expected schema"),
        ({"name": "T", "schema": "K INT KEY, A ARRAY<STRUCT<B DECIMAL(4, 2)>>"}, "schema"),
        ({"name": "S", "schema": "no schema ("}, "expected schema"),
        ({"name": "S", "keyFormat": {"format": "JSON"}}, "expected key format JSON, found KAFKA"),
        ({"name": "S", "keyFormat": WINDOWED}, "expected key windowType TUMBLING, found None"),
    ],
)
def test_so_it_is_not(catalog: Catalog, said: dict[str, Any], difference: str) -> None:
    assert any(difference in line for line in source_differences([said], catalog))


def test_what_is_known_has_the_form_of_what_is_said(catalog: Catalog) -> None:
    assert source_differences(describe(catalog), catalog) == []
