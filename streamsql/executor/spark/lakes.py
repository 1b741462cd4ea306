"""Tables of Iceberg: how Iceberg logs in to their catalogs, and their rows."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from streamsql.catalog import Lookup
from streamsql.errors import UnsupportedError
from streamsql.executor.spark.cluster import is_this_machine
from streamsql.executor.spark.drivers import database_driver, iceberg_jars
from streamsql.nodes import VersionAsOf
from streamsql.planner.types.timestamps import parse_timestamp

_SOURCE = "io.streamsql.iceberg.LakeSource"


def lake_rows(lookup: Lookup, name: str, schema: StructType, spark: SparkSession) -> DataFrame:
    """The rows of the snapshot, which Spark reads when they are needed; `name` is that of
    the source."""
    version = lookup.version or VersionAsOf()
    millis = parse_timestamp(version.timestamp) if version.timestamp else None
    options = {
        "name": name,
        "catalog": lookup.catalog,
        "table": lookup.table,
        "version": version.version or "",
        "millis": str(-1 if millis is None else millis),
        "jars": "\n".join(lake_jars(lookup.catalog, lookup.warehouse, spark)),
        **{f"catalog.{name}": value for name, value in properties_of(lookup).items()},
    }
    return spark.read.format(_SOURCE).schema(schema).options(**options).load()


def properties_of(lookup: Lookup) -> dict[str, str]:
    url = lookup.place if lookup.catalog != "HADOOP" else ""
    login = lookup.user, lookup.password
    return catalog_properties(lookup.catalog, url, lookup.warehouse, *login)


def lake_jars(catalog: str, warehouse: str, spark: SparkSession) -> list[str]:
    """The files of Iceberg and of what it needs; UnsupportedError on a cluster."""
    if not is_this_machine(spark.sparkContext.master or "local"):
        raise UnsupportedError(
            "CONNECTION='ICEBERG' on a Spark cluster", hint="Run the engine without --master."
        )
    jars = iceberg_jars(in_store=catalog == "REST" or warehouse.startswith("s3a:"))
    return jars + database_driver(spark) if catalog == "JDBC" else jars


def catalog_properties(
    catalog: str, url: str, warehouse: str, user: str, password: str
) -> dict[str, str]:
    """The catalog's properties, in Iceberg's names."""
    given: Mapping[str, str]
    match catalog:
        case "JDBC":
            login = {"jdbc.user": user, "jdbc.password": password}
            given = {"uri": url, "jdbc.schema-version": "V1", **login}
        case "REST":
            login = {"credential": f"{user}:{password}"} if user else {"token": password}
            # S3 by Hadoop's client, as for checkpoints.
            files = "org.apache.iceberg.hadoop.HadoopFileIO"
            given = {"uri": url, "io-impl": files, **login}
        case _:
            given = {}
    local = catalog != "REST" and warehouse.startswith("/")
    place = {"warehouse": f"file:{warehouse}" if local else warehouse}
    return {name: value for name, value in {**given, **place}.items() if value}
