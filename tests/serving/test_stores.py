"""The thread that keeps stores in line with the catalog, where it cannot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from awaiting import await_until
from engine.offline import Offline
from server.offline_server import OfflineRunner

from streamsql.catalog import Catalog
from streamsql.errors import ExternalError
from streamsql.executor.services.services import Services
from streamsql.schema import Kind
from streamsql.serving.stores import TableStores

SECONDS = 30.0


class Troubled:
    """Services with a Spark that is there, and cannot be had."""

    def __init__(self) -> None:
        self.spark = self
        self.errors: list[Exception] = []
        self.asked = 0

    def current_spark(self) -> object:
        return self

    def get(self) -> Any:
        self.asked += 1
        raise self.errors[-1]


def catalog(folder: Path) -> Catalog:
    """Of one table that is served."""
    with Offline(folder) as offline:
        OfflineRunner(offline).given(
            "CREATE STREAM s (k STRING KEY) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
            "CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;"
        )
        return offline.state.catalog


def looks(stores: TableStores, services: Troubled, error: Exception) -> None:
    """Two looks that fail by it."""
    services.errors.append(error)
    for _ in range(2):
        asked = services.asked
        stores.changed()
        await_until(lambda asked=asked: services.asked > asked, "another look", SECONDS)


def test_what_fails_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tables = catalog(tmp_path / "data")
    services = Troubled()
    services.errors.append(ExternalError("no Spark"))
    stores = TableStores(cast(Services, services), tmp_path / "stores", lambda: tables)
    stores.start(eager=True)
    try:
        looks(stores, services, ExternalError("no Spark"))
        looks(stores, services, ExternalError("no Kafka"))
        looks(stores, services, ValueError("a bug"))
        looks(stores, services, ValueError("a bug"))
    finally:
        stores.close()
    found = [record for record in caplog.records if record.name == "streamsql.stores"]
    assert [record.getMessage() for record in found] == [
        "the stores of the table T are unavailable: no Spark",
        "the stores of the table T are unavailable: no Kafka",
        "the stores of the tables are unavailable: a bug",
    ]
    assert [bool(record.exc_info) for record in found] == [False, False, True]


class Table:
    """A store of the one Spark, which is never read."""

    def __init__(self, spark: object, topic: str) -> None:
        self.spark = spark
        self.topic = topic
        self.closed = False

    def close(self) -> None:
        self.closed = True


def test_a_table_that_was_dropped_and_created_again_has_another_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the maintenance thread has not seen the catalog between the two."""
    known = catalog(tmp_path / "data")
    (table,) = known.of_kind(Kind.TABLE)
    catalogs = [known]
    spark = SimpleNamespace(session=object())
    services = SimpleNamespace(
        spark=SimpleNamespace(get=lambda: spark), latest_spark=lambda: spark.session
    )
    stores = TableStores(cast(Services, services), tmp_path / "stores", lambda: catalogs[-1])
    monkeypatch.setattr(stores, "_open", lambda s: Table(spark.session, s.topic.name))
    first = cast(Any, stores.get(table))
    assert stores.get(replace(table)) is first and stores.is_open(first)
    for now in (Catalog(), known):
        catalogs.append(now)
        stores.changed()
    assert not stores.is_open(first)
    second = stores.get(replace(table))
    assert second is not first and first.closed
    assert stores.get(table) is second and stores.is_open(second)


def test_a_failure_to_find_the_jvm_does_not_end_the_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    services, asked = Troubled(), []

    def fail() -> object:
        asked.append(1)
        raise OSError("too many open files")

    monkeypatch.setattr(services, "current_spark", fail)
    stores = TableStores(cast(Services, services), tmp_path / "stores", Catalog)
    stores.start(eager=True)
    try:
        for looks in (1, 2):
            await_until(lambda looks=looks: len(asked) >= looks, "a look", SECONDS)
            stores.changed()
        assert "too many open files" in caplog.text
    finally:
        stores.close()
