"""pg_catalog content for the engine's streams, tables and views. Streams and tables are ordinary
tables, with a comment that names the kind. OIDs derive from names: they survive restarts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol
from zlib import crc32

from streamsql.api.facts import SourceFacts, ViewFacts
from streamsql.postgres.relations.fixed import (
    OWNER_NAME,
    PUBLIC,
    SYSTEM_OIDS,
    alignment,
    class_row,
    collation,
    storage,
)
from streamsql.postgres.relations.schema import Rows, row
from streamsql.postgres.settings import NAMES, Settings
from streamsql.postgres.sql.texts import SCHEMA, shown
from streamsql.postgres.values.types import PgType, type_of
from streamsql.schema import WINDOW_BOUNDS, Column, Kind, Schema

_FIRST_OID, _OIDS = 16_384, 1 << 30
_CLASS, _CONSTRAINT = SYSTEM_OIDS["pg_class"], SYSTEM_OIDS["pg_constraint"]


class Described(Protocol):
    """The required part of an engine's inspection (api/inspection.py)."""

    def sources(self, kind: Kind | None = None) -> list[SourceFacts]: ...

    def views(self) -> list[ViewFacts]: ...

    def view_schema(self, name: str) -> Schema: ...


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
    materialized: bool = False

    @property
    def kind(self) -> str:
        """relkind of pg_class."""
        if self.materialized:
            return "m"
        return "r" if self.definition is None else "v"

    @property
    def key_name(self) -> str:
        """Of the primary key, and of its index."""
        return f"{self.name}_pkey"


def relations_of(described: Described) -> list[Relation]:
    found = [_source(facts) for facts in described.sources()]
    for view in described.views():
        columns = described.view_schema(view.name).columns
        found.append(Relation(shown(view.name), columns, (), "View", view.statement))
    return found


def _source(facts: SourceFacts) -> Relation:
    columns, keys = facts.schema.columns, facts.schema.key
    if facts.window is not None:
        # As `SELECT *` has them. A key has a row in each window.
        rest = tuple(column for column in columns if column not in keys)
        keys = (*keys, *WINDOW_BOUNDS)
        columns = (*keys, *rest)
    if facts.kind is not Kind.TABLE or facts.materialized:
        keys = ()
    numbers = tuple(number for number, column in enumerate(columns, 1) if column in keys)
    place = f"over the topic {facts.topic}" if facts.looked_up is None else "that is looked up"
    kind = "Materialized view" if facts.materialized else facts.kind.value.capitalize()
    what = f"{kind} {place}"
    comment = what if facts.comment is None else f"{facts.comment} ({what})"
    checks = tuple((shown(c.name), c.condition) for c in facts.constraints)
    definition = facts.statement if facts.materialized else None
    return Relation(
        shown(facts.name), columns, numbers, comment, definition, checks, facts.materialized
    )


def oids_of(relations: Sequence[Relation]) -> dict[str, int]:
    """The OID of each relation, and of each primary key by its name."""
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
    """Rows of the base relations, by name; others derive from them."""
    oids = oids_of(relations)
    constraints = [*_constraints(relations, oids)]
    tables: dict[str, list[Mapping[str, object]]] = {
        "pg_class": [*_classes(relations, oids)],
        "pg_attribute": [*_attributes(relations, oids)],
        "pg_index": [_index(r, oids) for r in relations if r.key],
        "pg_constraint": constraints,
        "pg_depend": [_dependency(found) for found in constraints if found["contype"] == "p"],
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
            if r.kind == "v"
        ],
        "pg_matviews": [
            {
                "schemaname": SCHEMA,
                "matviewname": r.name,
                "matviewowner": OWNER_NAME,
                "hasindexes": False,
                "ispopulated": True,
                "definition": r.definition,
            }
            for r in relations
            if r.kind == "m"
        ],
    }
    return {name: [row(name, found) for found in rows] for name, rows in tables.items()}


def settings_rows(settings: Settings) -> Rows:
    """pg_settings of a session."""
    return [
        row("pg_settings", {"name": name, "setting": settings.get(name), "context": "user"})
        for name in sorted(NAMES)
    ]


def _classes(
    relations: Sequence[Relation], oids: Mapping[str, int]
) -> Iterator[Mapping[str, object]]:
    for relation in relations:
        name = relation.name
        yield class_row(name, oids[name], relation.kind, len(relation.columns)) | {
            "relchecks": len(relation.checks),
            "relhasindex": bool(relation.key),
        }
        if relation.key:
            name = relation.key_name
            yield class_row(name, oids[name], "i", len(relation.key))


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
        "attalign": alignment(kind.codec, array=kind.array),
        "attstorage": storage(kind.codec, array=kind.array),
        "attnotnull": key,
        "attislocal": True,
        "attinhcount": 0,
        "attcollation": collation(kind.codec),
    }


def _index(relation: Relation, oids: Mapping[str, int]) -> Mapping[str, object]:
    columns = len(relation.key)
    kinds = [type_of(relation.columns[number - 1].type) for number in relation.key]
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
        "indcollation": [collation(kind.codec) for kind in kinds],
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


def _dependency(key: Mapping[str, object]) -> Mapping[str, object]:
    """The dependency of a primary key's index on its constraint."""
    return {
        "classid": _CLASS,
        "objid": key["conindid"],
        "objsubid": 0,
        "refclassid": _CONSTRAINT,
        "refobjid": key["oid"],
        "refobjsubid": 0,
        "deptype": "i",
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
