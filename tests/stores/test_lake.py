"""Iceberg sinks whose tables are in an object store, with REST and JDBC catalogs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from awaiting import await_until
from engine.lake import Seen, appended
from engine.live import PATIENCE, Live, Restartable
from engine.postgresql import PASSWORD, USER, Database, writable_database
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError, RESTError
from sqlalchemy.exc import SQLAlchemyError
from stores.s3_server import BUCKET, KEY, SECRET, S3Server, s3_server

from streamsql.engine import EngineConfig, QueryState
from streamsql.kafka.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

WAREHOUSE = "lake"


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server(tmp_path_factory.mktemp("s3") / "server", warehouse=WAREHOUSE) as found:
        yield found


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Database]:
    with writable_database() as found:
        yield found


@pytest.fixture(scope="module")
def engine(
    s3: S3Server, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Restartable]:
    folder = tmp_path_factory.mktemp("engine") / "data"
    found = Restartable(EngineConfig(folder, broker.bootstrap, spark=dict(s3.settings)))
    found.start()
    yield found
    found.engine.close()


@pytest.fixture
def live(engine: Restartable, tmp_path: Path) -> Iterator[Live]:
    found = Live(engine)
    found.run("""
        CREATE STREAM $s (id INT KEY, name STRING, town STRING)
          WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=1);
        INSERT INTO $s VALUES (1, 'Ada', 'York');
    """)
    (tmp_path / "secrets").write_text(f"db={PASSWORD}\ncatalog={SECRET}\n", "utf-8")
    yield found
    found.drop_all()


def create(live: Live, given: str, verb: str = "CREATE") -> str:
    """The id of the query."""
    place = f"CONNECTION='ICEBERG', TABLE='shop.t', COMMIT_INTERVAL='1 SECOND', {given}"
    sql = f"{verb} SINK {live.name('O')} FROM {live.name('S')} WITH ({place});"
    list(live.engine.execute(sql, live.session))
    return live.engine.catalog().sinks[live.name("O")].query_id


def await_rows(
    open_catalog: Callable[[], Catalog], live: Live, *expected: tuple[object, ...]
) -> None:
    found: list[Seen] = []

    def arrived() -> bool:
        with suppress(NoSuchTableError, SQLAlchemyError, RESTError):
            found[:] = [appended(open_catalog().load_table("shop.t"), live.name("O"))]
        return bool(found) and found[0].rows == list(expected)

    try:
        await_until(arrived, "the rows", PATIENCE, every=0.5)
    except AssertionError:
        assert found and found[0].rows == list(expected), live.engine.queries()
        raise


def test_a_rest_catalog_whose_store_is_gone_for_a_while(
    live: Live, s3: S3Server, tmp_path: Path
) -> None:
    def catalog() -> Catalog:
        given = {"credential": f"{KEY}:{SECRET}", "warehouse": f"s3://{WAREHOUSE}"}
        given["oauth2-server-uri"] = f"{s3.catalog_url}/v1/oauth/tokens"
        return RestCatalog("lake", uri=s3.catalog_url, **given, **s3.files)

    login = f"USER='{KEY}', PASSWORD='${{file:{tmp_path}/secrets:catalog}}'"
    given = f"CATALOG='REST', URL='{s3.catalog_url}', WAREHOUSE='s3://{WAREHOUSE}', {login}"
    query = create(live, given)
    await_rows(catalog, live, (1, "Ada", "York"))
    create(
        live, f"{given}, COLUMNS='id, name AS customer', DROP_COLUMNS='town'", "CREATE OR REPLACE"
    )
    live.run("INSERT INTO $s VALUES (2, 'Bob', 'Bath');")
    await_rows(catalog, live, (1, "Ada"), (2, "Bob"))
    names = [field.name for field in catalog().load_table("shop.t").schema().fields]
    assert names == ["id", "customer"]
    s3.kill()
    live.run("INSERT INTO $s VALUES (3, 'Cyd', 'Ely');")
    live.await_state(query, QueryState.WAITING)
    assert "the destination of the sink is out of reach" in live.query(query).reason
    s3.start()
    await_rows(catalog, live, (1, "Ada"), (2, "Bob"), (3, "Cyd"))


def test_a_bucket_and_a_catalog_in_postgresql(
    live: Live, s3: S3Server, postgresql: Database, tmp_path: Path
) -> None:
    login = f"USER='{USER}', PASSWORD='${{file:{tmp_path}/secrets:db}}'"
    create(live, f"CATALOG='JDBC', URL='{postgresql.url}', WAREHOUSE='s3://{BUCKET}/lake', {login}")
    uri = f"postgresql+psycopg://admin@127.0.0.1:{postgresql.port}/postgres"
    with closing(SqlCatalog("streamsql", uri=uri, init_catalog_tables="false", **s3.files)) as one:
        await_rows(lambda: one, live, (1, "Ada", "York"))
        assert one.load_table("shop.t").location() == f"s3a://{BUCKET}/lake/shop/t"
