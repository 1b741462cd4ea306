"""What stands in pg_catalog: the engine's streams, tables and views, and PostgreSQL's own types.

Streams and tables are ordinary tables to clients, and their comments say which they are. Numbers of
relations (OIDs) follow from their names: they are the same after a restart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol
from zlib import crc32

from streamsql.api.facts import SourceFacts, ViewFacts
from streamsql.postgres.relations.schema import RELATIONS
from streamsql.postgres.settings import NAMES, Settings
from streamsql.postgres.sql.texts import SCHEMA, shown
from streamsql.postgres.values.scalars import CODECS
from streamsql.postgres.values.types import PgType, type_of
from streamsql.schema import Column, Kind, Schema

OWNER, OWNER_NAME = 10, "streamsql"
PG_CATALOG, PUBLIC, INFORMATION_SCHEMA = 11, 2200, 13_000
_FIRST_OID, _OIDS = 16_384, 1 << 30
_BTREE, _HEAP = 403, 2
_CLASS = 1259
Rows = list[tuple[object, ...]]


class Described(Protocol):
    """What an engine tells of itself (api/inspection.py)."""

    def sources(self, kind: Kind | None = None) -> list[SourceFacts]:
        """All streams and tables."""
        ...

    def views(self) -> list[ViewFacts]:
        """All views."""
        ...

    def view_schema(self, name: str) -> Schema:
        """The columns of a view."""
        ...


@dataclass(frozen=True)
class Relation:
    """A stream, table or view."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    """The numbers of a table's key columns, from 1."""
    comment: str
    definition: str | None = None
    """A view's statement."""
    checks: tuple[tuple[str, str], ...] = ()
    """The name and the condition, in SQL, of each constraint."""

    @property
    def kind(self) -> str:
        """As pg_class has it."""
        return "r" if self.definition is None else "v"

    @property
    def key_name(self) -> str:
        """Of the primary key, and of its index."""
        return f"{self.name}_pkey"


def relations_of(described: Described) -> list[Relation]:
    """All that clients see."""
    found = [_source(facts) for facts in described.sources()]
    for view in described.views():
        columns = described.view_schema(view.name).columns
        found.append(Relation(shown(view.name), columns, (), "View", view.statement))
    return found


def _source(facts: SourceFacts) -> Relation:
    columns = facts.schema.columns
    keys = facts.schema.key if facts.kind is Kind.TABLE else ()
    numbers = tuple(number for number, column in enumerate(columns, 1) if column in keys)
    what = f"{facts.kind.value.capitalize()} over the topic {facts.topic}"
    comment = what if facts.comment is None else f"{facts.comment} ({what})"
    checks = tuple((shown(c.name), c.condition) for c in facts.constraints)
    return Relation(shown(facts.name), columns, numbers, comment, checks=checks)


def oids_of(relations: Sequence[Relation]) -> dict[str, int]:
    """The number of each relation, and of each primary key by its name."""
    found: dict[str, int] = {}
    taken: set[int] = set()
    names = [relation.name for relation in relations]
    names += [relation.key_name for relation in relations if relation.key]
    for name in names:
        oid = _FIRST_OID + crc32(name.encode()) % _OIDS
        while oid in taken:
            oid += 1
        taken.add(oid)
        found[name] = oid
    return found


def contents(relations: Sequence[Relation]) -> dict[str, Rows]:
    """The rows of the relations that tell of these, by name; others follow from them."""
    oids = oids_of(relations)
    tables: dict[str, list[Mapping[str, object]]] = {
        "pg_class": [*_classes(relations, oids)],
        "pg_attribute": [*_attributes(relations, oids)],
        "pg_index": [_index(r, oids) for r in relations if r.key],
        "pg_constraint": [*_constraints(relations, oids)],
        "pg_description": [
            {"objoid": oids[r.name], "classoid": _CLASS, "objsubid": 0, "description": r.comment}
            for r in relations
        ],
        "pg_rewrite": [],
        "pg_views": [
            {
                "schemaname": SCHEMA,
                "viewname": r.name,
                "viewowner": OWNER_NAME,
                "definition": r.definition,
            }
            for r in relations
            if r.definition is not None
        ],
    }
    return {name: [_row(name, row) for row in rows] for name, rows in tables.items()}


def fixed() -> dict[str, Rows]:
    """The rows of those that are always the same."""
    role = {
        "oid": OWNER,
        "rolname": OWNER_NAME,
        "rolconnlimit": -1,
        **dict.fromkeys(
            ("rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin"), True
        ),
        **dict.fromkeys(("rolreplication", "rolbypassrls"), False),
    }
    tables: dict[str, list[Mapping[str, object]]] = {
        "pg_namespace": [
            {"oid": oid, "nspname": name, "nspowner": OWNER}
            for oid, name in (
                (PG_CATALOG, "pg_catalog"),
                (PUBLIC, SCHEMA),
                (INFORMATION_SCHEMA, "information_schema"),
            )
        ],
        "pg_am": [
            {"oid": _HEAP, "amname": "heap", "amtype": "t"},
            {"oid": _BTREE, "amname": "btree", "amtype": "i"},
        ],
        "pg_type": [*_types()],
        "pg_roles": [role],
        "pg_authid": [role],
        "pg_tablespace": [{"oid": 1663, "spcname": "pg_default", "spcowner": OWNER}],
        "pg_language": [{"oid": 14, "lanname": "sql", "lanowner": OWNER, "lanispl": False}],
        "pg_collation": [
            {
                "oid": 100,
                "collname": "default",
                "collnamespace": PG_CATALOG,
                "collowner": OWNER,
                "collprovider": "d",
                "collisdeterministic": True,
                "collencoding": -1,
            }
        ],
        "pg_user": [
            {"usename": OWNER_NAME, "usesysid": OWNER, "usecreatedb": True, "usesuper": True}
        ],
    }
    return {name: [_row(name, row) for row in rows] for name, rows in tables.items()}


def settings_rows(settings: Settings) -> Rows:
    """pg_settings, as a session has it."""
    return [
        _row("pg_settings", {"name": name, "setting": settings.get(name), "context": "user"})
        for name in sorted(NAMES)
    ]


def _row(relation: str, given: Mapping[str, object]) -> tuple[object, ...]:
    """In the order of the columns; what is not given is null."""
    names = [name for name, _ in RELATIONS[relation]]
    assert given.keys() <= set(names), (relation, given.keys() - set(names))
    return tuple(given.get(name) for name in names)


def _classes(
    relations: Sequence[Relation], oids: Mapping[str, int]
) -> Iterator[Mapping[str, object]]:
    for relation in relations:
        yield _class(relation.name, oids, relation.kind, len(relation.columns)) | {
            "relam": _HEAP if relation.kind == "r" else 0,
            "relchecks": len(relation.checks),
            "relhasindex": bool(relation.key),
            "relhasrules": relation.kind == "v",
        }
        if relation.key:
            found = _class(relation.key_name, oids, "i", len(relation.key))
            yield found | {"relam": _BTREE}


def _class(name: str, oids: Mapping[str, int], kind: str, columns: int) -> dict[str, object]:
    nothing = ("reltype", "reloftype", "reltablespace", "relpages", "relallvisible")
    never = (
        *("relhasindex", "relisshared", "relhasrules", "relhastriggers", "relhassubclass"),
        *("relrowsecurity", "relforcerowsecurity", "relispartition"),
    )
    return {
        **dict.fromkeys(nothing, 0),
        **dict.fromkeys(never, False),
        **dict.fromkeys(("reltoastrelid", "relchecks", "relrewrite", "relminmxid"), 0),
        "oid": oids[name],
        "relname": name,
        "relnamespace": PUBLIC,
        "relowner": OWNER,
        "relfilenode": oids[name],
        "reltuples": -1.0,
        "relpersistence": "p",
        "relkind": kind,
        "relnatts": columns,
        "relispopulated": True,
        "relreplident": "d",
        "relfrozenxid": 0,
    }


def _attributes(
    relations: Sequence[Relation], oids: Mapping[str, int]
) -> Iterator[Mapping[str, object]]:
    for relation in relations:
        numbered = list(enumerate(relation.columns, 1))
        for number, column in numbered:
            yield _attribute(oids[relation.name], number, column, number in relation.key)
        keys = [column for number, column in numbered if number in relation.key]
        for number, column in enumerate(keys, 1):
            yield _attribute(oids[relation.key_name], number, column, False)


def _attribute(oid: int, number: int, column: Column, key: bool) -> Mapping[str, object]:
    kind: PgType = type_of(column.type)
    return {
        **dict.fromkeys(("atthasdef", "atthasmissing", "attisdropped"), False),
        **dict.fromkeys(("attidentity", "attgenerated", "attcompression"), ""),
        "attrelid": oid,
        "attname": shown(column.name),
        "atttypid": kind.oid,
        "attstattarget": -1,
        "attlen": kind.size,
        "attnum": number,
        "attndims": int(kind.array),
        "attcacheoff": -1,
        "atttypmod": kind.modifier,
        "attbyval": 0 < kind.size <= 8,
        "attalign": "i",
        "attstorage": "p" if kind.size > 0 else "x",
        "attnotnull": key,
        "attislocal": True,
        "attinhcount": 0,
        "attcollation": 0,
    }


def _index(relation: Relation, oids: Mapping[str, int]) -> Mapping[str, object]:
    columns = len(relation.key)
    return {
        **dict.fromkeys(("indisunique", "indisprimary", "indimmediate", "indisvalid"), True),
        **dict.fromkeys(("indisready", "indislive"), True),
        **dict.fromkeys(("indisexclusion", "indisclustered", "indcheckxmin"), False),
        **dict.fromkeys(("indisreplident", "indnullsnotdistinct"), False),
        "indexrelid": oids[relation.key_name],
        "indrelid": oids[relation.name],
        "indnatts": columns,
        "indnkeyatts": columns,
        "indkey": list(relation.key),
        "indcollation": [0] * columns,
        "indclass": [0] * columns,
        "indoption": [0] * columns,
    }


def _constraints(
    relations: Sequence[Relation], oids: Mapping[str, int]
) -> Iterator[Mapping[str, object]]:
    # Of another range than the numbers of relations.
    numbers = count(_FIRST_OID + 2 * _OIDS)
    for relation in relations:
        if relation.key:
            yield _constraint(relation, oids, next(numbers)) | {
                "conname": relation.key_name,
                "contype": "p",
                "conindid": oids[relation.key_name],
                "conkey": list(relation.key),
            }
        for name, condition in relation.checks:
            yield _constraint(relation, oids, next(numbers)) | {
                "conname": name,
                "contype": "c",
                "conindid": 0,
                "conbin": condition,
            }


def _constraint(relation: Relation, oids: Mapping[str, int], number: int) -> dict[str, object]:
    return {
        **dict.fromkeys(("condeferrable", "condeferred"), False),
        **dict.fromkeys(("convalidated", "conislocal", "connoinherit"), True),
        **dict.fromkeys(("contypid", "conparentid", "confrelid", "coninhcount"), 0),
        **dict.fromkeys(("confupdtype", "confdeltype", "confmatchtype"), " "),
        "oid": number,
        "connamespace": PUBLIC,
        "conrelid": oids[relation.name],
    }


_CATEGORIES = {
    **dict.fromkeys(("bool",), "B"),
    **dict.fromkeys(("int2", "int4", "int8", "oid", "float4", "float8", "numeric"), "N"),
    **dict.fromkeys(("text", "name", "bpchar", "varchar"), "S"),
    **dict.fromkeys(("date", "time", "timestamp", "timestamptz"), "D"),
}


def _types() -> Iterator[Mapping[str, object]]:
    common: dict[str, object] = {
        "typnamespace": PG_CATALOG,
        "typowner": OWNER,
        "typispreferred": False,
        "typisdefined": True,
        "typdelim": ",",
        "typrelid": 0,
        "typalign": "i",
        "typnotnull": False,
        "typbasetype": 0,
        "typtypmod": -1,
        "typndims": 0,
        "typcollation": 0,
    }
    for codec in CODECS:
        array = 0 if codec.name == "unknown" else codec.array
        yield common | {
            "oid": codec.oid,
            "typname": codec.name,
            "typlen": codec.size,
            "typbyval": 0 < codec.size <= 8,
            "typtype": "p" if codec.name == "unknown" else "b",
            "typcategory": _CATEGORIES.get(codec.name, "U"),
            "typelem": 0,
            "typarray": array,
            **_functions(codec.name, codec.name),
        }
        if array:
            yield common | {
                "oid": codec.array,
                "typname": f"_{codec.name}",
                "typlen": -1,
                "typbyval": False,
                "typtype": "b",
                "typcategory": "A",
                "typelem": codec.oid,
                "typarray": 0,
                "typsubscript": "array_subscript_handler",
                **_functions("array_", "array_"),
            }


def _functions(reader: str, writer: str) -> dict[str, object]:
    return {
        "typinput": f"{reader}in",
        "typoutput": f"{writer}out",
        "typreceive": f"{reader}recv",
        "typsend": f"{writer}send",
        "typmodin": "-",
        "typmodout": "-",
        "typanalyze": "-",
    }
