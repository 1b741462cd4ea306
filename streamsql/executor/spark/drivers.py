"""Drivers of databases and Iceberg: only queries that use them have them on the class path."""

from __future__ import annotations

from typing import Any, cast

from pyspark.sql import SparkSession

from streamsql.errors import UnsupportedError
from streamsql.executor.spark.cluster import is_this_machine
from streamsql.jvm.jars import ensure_jars
from streamsql.planner.with_clause.databases import SQLITE


def database_driver(session: SparkSession, url: str = "") -> list[str]:
    """The files of the driver for a URL, PostgreSQL's by default, downloaded if necessary, and sent
    to other machines. UnsupportedError for a file of SQLite with other machines."""
    spark = session.sparkContext
    is_local, is_file = is_this_machine(spark.master or "local"), url.startswith(SQLITE)
    if is_file and not is_local:
        raise UnsupportedError(
            "a sink in SQLite needs Spark on the machine of the file",
            hint="Run the engine without --master, or use PostgreSQL.",
        )
    jars = [str(path) for path in ensure_jars("sqlite" if is_file else "postgresql")]
    if not is_local:
        for jar in jars:
            cast(Any, spark)._jsc.addJar(jar)
    return jars


def iceberg_jars(in_store: bool) -> list[str]:
    """The files of Iceberg, downloaded if necessary, and those of the client of object stores."""
    stores = ensure_jars("s3") if in_store else []
    return [str(path) for path in (*ensure_jars("iceberg"), *stores)]
