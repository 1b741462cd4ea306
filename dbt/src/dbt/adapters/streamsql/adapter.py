"""What dbt asks of an adapter, answered by a server's catalog; models are built by `builds`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from dbt.adapters.base import AdapterConfig, BaseAdapter, BaseRelation, available
from dbt.adapters.streamsql.builds import Run, build
from dbt.adapters.streamsql.client import Client
from dbt.adapters.streamsql.connections import DATABASE, SCHEMA, StreamsqlConnectionManager
from dbt.adapters.streamsql.definitions import STREAM, WITH, definition_of, key_of
from dbt.adapters.streamsql.relations import (
    StreamsqlColumn,
    StreamsqlRelation,
    column_of,
    shown,
)
from dbt_common.clients.agate_helper import table_from_data_flat
from dbt_common.exceptions import DbtRuntimeError

if TYPE_CHECKING:
    import agate


def _type(name: str) -> Any:
    def convert(cls: Any, agate_table: agate.Table, col_idx: int) -> str:
        return name

    return classmethod(convert)


@dataclass
class StreamsqlConfig(AdapterConfig):
    """The options of a model's config in addition to dbt's own."""

    kind: str | None = None
    """Of a `source`: `stream` or `table`."""
    kafka_topic: str | None = None
    partitions: int | None = None
    replicas: int | None = None
    retention_ms: int | None = None
    format: str | None = None
    key_format: str | None = None
    value_format: str | None = None
    key_delimiter: str | None = None
    value_delimiter: str | None = None
    timestamp: str | None = None
    timestamp_format: str | None = None
    wrap_single_value: bool | None = None
    window_type: str | None = None
    window_size: str | None = None
    state_ttl: str | None = None
    with_properties: dict[str, Any] = field(default_factory=dict)
    """All others that WITH takes."""
    properties: dict[str, Any] = field(default_factory=dict)
    """Those of SET."""
    delete_topic: bool = True
    catch_up_seconds: float = 60.0


class StreamsqlAdapter(BaseAdapter):
    """dbt on a streamsql server."""

    Relation = StreamsqlRelation
    Column = StreamsqlColumn
    ConnectionManager = StreamsqlConnectionManager
    AdapterSpecificConfigs = StreamsqlConfig

    # -- models ----------------------------------------------------------------------------------

    @available.parse(lambda *a, **k: {})
    def streamsql_definition(
        self, materialized: str, relation: BaseRelation, sql: str, config: Any, comment: str | None
    ) -> Any:
        """The Definition of a model."""
        given = {key: config.get(key) for key in WITH if config.get(key) is not None}
        options = {
            "with": {**given, **(config.get("with_properties") or {})},
            "properties": config.get("properties"),
            "comment": comment,
        }
        with self.connections.exception_handler(sql):
            kind = config.get("kind") or STREAM
            return definition_of(materialized, relation.render(), sql, options, kind)

    @available.parse(lambda *a, **k: "")
    def streamsql_build(
        self, definition: Any, config: Any, full_refresh: bool, models: Mapping[str, Any]
    ) -> str:
        """Have a model be what runs: what was done. `models` are those of the run, by their names
        in SQL, with their own configs."""
        topics = {name: bool(c.get("delete_topic", True)) for name, c in models.items()}
        seconds = config.get("catch_up_seconds", 60.0)
        run = Run(full_refresh, topics, bool(config.get("delete_topic", True)), float(seconds))
        with self.connections.exception_handler(definition.sql):
            return build(self._client(), definition, run)

    def _client(self) -> Client:
        client: Client = self.connections.get_thread_connection().handle
        return client

    def _catalog(self) -> dict[str, Any]:
        with self.connections.exception_handler("catalog"):
            return self._client().catalog()

    # -- listings ------------------------------------------------------------------------------

    def list_schemas(self, database: str) -> list[str]:
        """There is one."""
        return [SCHEMA]

    def create_schema(self, relation: BaseRelation) -> None:
        """DbtRuntimeError for any but the only one."""
        if relation.schema != SCHEMA:
            raise DbtRuntimeError(
                f"there is no schema {relation.schema}: streamsql has one, {SCHEMA}\n"
                "Leave out `schema` of profile and models; names are distinguished by `alias`."
            )

    def drop_schema(self, relation: BaseRelation) -> None:
        """DbtRuntimeError: nothing of dbt's asks for that but by hand."""
        _refuse("dropping a schema", "DROP the streams, tables and views of it")

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """All streams, tables and views."""
        if schema_relation.schema != SCHEMA:
            return []
        catalog = self._catalog()
        kinds = {key: source["kind"].lower() for key, source in catalog["sources"].items()}
        kinds.update(dict.fromkeys(catalog["views"], "view"))
        return [
            self.Relation.create(
                database=schema_relation.database,
                schema=SCHEMA,
                identifier=shown(key),
                type=kind,
                quote_policy={"identifier": shown(key) == key},
            )
            for key, kind in kinds.items()
        ]

    def get_columns_in_relation(self, relation: BaseRelation) -> list[StreamsqlColumn]:
        """Its columns, the key first."""
        return [
            column_of(name, kind)
            for name, kind in self._columns(self._catalog(), key_of(relation.render()))
        ]

    def _columns(self, catalog: Mapping[str, Any], key: str) -> list[tuple[str, str]]:
        source = catalog["sources"].get(key)
        if source is not None:
            columns = source["schema"]["columns"]
            ordered = sorted(columns, key=lambda column: column["namespace"] != "KEY")
            return [(column["name"], column["type"]) for column in ordered]
        if key not in catalog["views"]:
            return []
        with self.connections.exception_handler("DESCRIBE"):
            rows = self._client().execute(f"DESCRIBE {self.quote(key)};").rows
        # The role of a column stands behind its type, in brackets.
        return [(name, kind.partition(" (")[0]) for name, kind in rows]

    def _get_one_catalog(
        self, information_schema: Any, schemas: set[str], used_schemas: frozenset[tuple[str, str]]
    ) -> agate.Table:
        """For `dbt docs generate`: a row for each column of all objects."""
        catalog = self._catalog()
        things = {key: (s["kind"].lower(), s["comment"]) for key, s in catalog["sources"].items()}
        things.update(dict.fromkeys(catalog["views"], ("view", None)))
        rows = [
            {
                "table_database": information_schema.database or DATABASE,
                "table_schema": SCHEMA,
                "table_name": shown(key),
                "table_type": kind,
                "table_comment": comment,
                "column_name": shown(name),
                "column_index": index,
                "column_type": column_type,
                "column_comment": None,
                "table_owner": None,
            }
            for key, (kind, comment) in things.items()
            for index, (name, column_type) in enumerate(self._columns(catalog, key), 1)
        ]
        names = list(rows[0]) if rows else _CATALOG
        return self._catalog_filter_table(table_from_data_flat(rows, names), used_schemas)

    # -- what is done to it ----------------------------------------------------------------------

    def drop_relation(self, relation: BaseRelation) -> None:
        """DROP it; its topic stays."""
        self.cache_dropped(relation)
        self.execute(f"DROP {str(relation.type).upper()} IF EXISTS {relation.render()};")

    def truncate_relation(self, relation: BaseRelation) -> None:
        """DbtRuntimeError: a topic is a log."""
        _refuse("emptying a stream or table", "`dbt run --full-refresh` recreates it")

    def rename_relation(self, from_relation: BaseRelation, to_relation: BaseRelation) -> None:
        """DbtRuntimeError: a name is that of a topic, and others read it."""
        _refuse("renaming a stream or table", "build a model of the new name, and drop the old one")

    def expand_column_types(self, goal: BaseRelation, current: BaseRelation) -> None:
        """Nothing: text has no length."""

    # -- the language ----------------------------------------------------------------------------

    @classmethod
    def date_function(cls) -> str:
        """Now, in SQL."""
        return "CURRENT_TIMESTAMP"

    @classmethod
    def is_cancelable(cls) -> bool:
        """Whether a query can be ended from outside."""
        return True

    @classmethod
    def quote(cls, identifier: str) -> str:
        """A name as it is written."""
        return "`" + identifier.replace("`", "``") + "`"

    # Of seeds' columns, which are not loaded; dbt requests them nevertheless.
    convert_text_type = _type("STRING")
    convert_number_type = _type("DOUBLE")
    convert_boolean_type = _type("BOOLEAN")
    convert_datetime_type = _type("TIMESTAMP")
    convert_date_type = _type("DATE")
    convert_time_type = _type("TIME")

    def valid_incremental_strategies(self) -> list[str]:
        """None: a stream or table takes up what is new by itself."""
        return []


_CATALOG = (
    "table_database table_schema table_name table_type table_comment column_name column_index "
    "column_type column_comment table_owner"
).split()


def _refuse(what: str, instead: str) -> NoReturn:
    raise DbtRuntimeError(f"{what} is not supported by streamsql\nInstead: {instead}.")
