"""WITH (..) of tables of Iceberg: the catalog, the warehouse and the table."""

from __future__ import annotations

import re

from streamsql.errors import ConfigError, Span, UnsupportedError
from streamsql.planner.with_clause.databases import check_password_free, needed
from streamsql.planner.with_clause.properties import WithProperties

CATALOGS = ("HADOOP", "JDBC", "REST")
_DATABASE = "jdbc:postgresql:"
_TABLE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", re.ASCII)
_LOCAL = re.compile(r"(?:file:)?(?://)?(/[^/].*)")
_BUCKET = re.compile(r"s3a?://([^/?#]+(?:/[^?#]+)?)")
_SERVER = re.compile(r"https?://[^/?#\s]+(?:/[^?#\s]*)?")


def catalog_of(given: WithProperties) -> tuple[str, str]:
    """The kind of catalog, and the URL of its database."""
    catalog = (given.text("CATALOG") or CATALOGS[0]).upper()
    if catalog not in CATALOGS:
        raise UnsupportedError(
            f"CATALOG='{catalog}' of Iceberg",
            hint="CATALOG='HADOOP' keeps the catalog in the warehouse, CATALOG='JDBC' in "
            "PostgreSQL, CATALOG='REST' asks a server.",
            span=given.span("CATALOG"),
        )
    if catalog == "HADOOP":
        for name in ("URL", "USER", "PASSWORD"):
            if given.text(name) is not None:
                raise ConfigError(
                    f"CATALOG='HADOOP' has no property {name}",
                    hint="CATALOG='JDBC' keeps the catalog in a database.",
                    span=given.span(name),
                )
        return catalog, ""
    if catalog == "REST":
        return catalog, _server(given)
    hint = "It is the database of the catalog: URL='jdbc:postgresql://localhost:5432/lake'."
    url = needed("URL", hint, given, None)
    if not url.startswith(_DATABASE):
        raise UnsupportedError(
            "only PostgreSQL is supported for catalogs of Iceberg",
            hint="URL='jdbc:postgresql://localhost:5432/lake'.",
            span=given.span("URL"),
        )
    check_password_free(url, given)
    return catalog, url


def _server(given: WithProperties) -> str:
    hint = "It is the address of the catalog: URL='https://catalog:8181'."
    url = needed("URL", hint, given, None)
    if not _SERVER.fullmatch(url):
        raise given.invalid("URL", "it is not the address of a server", "https://catalog:8181")
    check_password_free(url, given)
    if given.text("USER") is not None and given.text("PASSWORD") is None:
        raise ConfigError(
            "USER without PASSWORD",
            hint="They are the id and the secret of a client; PASSWORD alone is a token.",
            span=given.span("USER"),
        )
    return url.rstrip("/")


def warehouse_of(given: WithProperties, span: Span | None) -> str:
    """The path of a folder, the URL of a bucket, or the name of a warehouse of a REST catalog."""
    catalog, _ = catalog_of(given)
    if catalog == "REST":
        return given.text("WAREHOUSE") or ""
    hint = "It is the folder of the tables: WAREHOUSE='/data/lake'."
    text = needed("WAREHOUSE", hint, given, span).rstrip("/")
    bucket, local = _BUCKET.fullmatch(text), _LOCAL.fullmatch(text)
    if bucket is not None and catalog == "HADOOP":
        raise UnsupportedError(
            f"CATALOG='HADOOP' in the object store '{text}', which cannot rename a file atomically",
            hint="CATALOG='JDBC' and CATALOG='REST' can have their tables in a bucket.",
            span=given.span("WAREHOUSE"),
        )
    if bucket is not None and text.isprintable():
        return f"s3a://{bucket[1]}"
    if "://" in text and not text.startswith("file:") and bucket is None:
        raise UnsupportedError(
            f"the warehouse '{text}' is neither on a disk nor in a bucket of S3",
            hint="WAREHOUSE='/data/lake' and WAREHOUSE='s3://bucket/lake' are.",
            span=given.span("WAREHOUSE"),
        )
    if local is not None and text.isprintable():
        return local[1]
    raise given.invalid("WAREHOUSE", "it is not the absolute path of a folder", "/data/lake")


def table_in_lake(given: WithProperties, span: Span | None) -> str:
    table = needed("TABLE", "It is namespace and table: TABLE='shop.orders'.", given, span)
    if not _TABLE.fullmatch(table):
        raise given.invalid("TABLE", "it is not a namespace and the name of a table", "shop.orders")
    return table
