"""Drivers of databases and Iceberg: only queries that use them have them on the class path."""

from __future__ import annotations

from typing import Any, cast

from pyspark.sql import SparkSession

from streamsql.executor.spark.cluster import is_this_machine
from streamsql.jvm.jars import ensure_jars


def database_driver(session: SparkSession) -> list[str]:
    """The files of PostgreSQL's driver, downloaded if necessary, and sent to other machines."""
    jars = [str(path) for path in ensure_jars("postgresql")]
    spark = session.sparkContext
    if not is_this_machine(spark.master or "local"):
        for jar in jars:
            cast(Any, spark)._jsc.addJar(jar)
    return jars


def iceberg_jars(in_store: bool) -> list[str]:
    """The files of Iceberg, downloaded if necessary, and those of the client of object stores."""
    stores = ensure_jars("s3") if in_store else []
    return [str(path) for path in (*ensure_jars("iceberg"), *stores)]
