"""Fixed content of pg_catalog: system relations, PostgreSQL's types, the role and similar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from streamsql.postgres.relations.schema import INFORMATION, RELATIONS, Rows, row
from streamsql.postgres.sql.texts import SCHEMA
from streamsql.postgres.values.scalars import CODECS, ScalarCodec

OWNER, OWNER_NAME = 10, "streamsql"
PG_CATALOG, PUBLIC, INFORMATION_SCHEMA = 11, 2200, 13_000
BTREE, HEAP = 403, 2
DEFAULT_COLLATION, C_COLLATION = 100, 950
_KNOWN_OIDS = {
    "pg_am": 2601,
    "pg_attrdef": 2604,
    "pg_attribute": 1249,
    "pg_authid": 1260,
    "pg_class": 1259,
    "pg_constraint": 2606,
    "pg_database": 1262,
    "pg_depend": 2608,
    "pg_description": 2609,
    "pg_index": 2610,
    "pg_namespace": 2615,
    "pg_proc": 1255,
    "pg_rewrite": 2618,
    "pg_tablespace": 1213,
    "pg_trigger": 2620,
    "pg_type": 1247,
}
SYSTEM_OIDS = {name: 12_000 + number for number, name in enumerate(RELATIONS)} | _KNOWN_OIDS
"""The OIDs of the system's relations, by their names in DuckDB."""
_VIEWS = frozenset(
    "pg_available_extensions pg_cursors pg_group pg_indexes pg_locks pg_matviews pg_policies "
    "pg_roles pg_rules pg_seclabels pg_sequences pg_settings pg_stat_activity pg_stat_gssapi "
    "pg_stat_user_tables pg_tables pg_timezone_names pg_user pg_views".split()
)
_FUNCTIONS = frozenset({"pg_get_keywords"})
"""DuckDB tables that represent functions."""
RESERVED = """
all analyse analyze and any array as asc asymmetric both case cast check collate column constraint
create current_catalog current_date current_role current_time current_timestamp current_user default
deferrable desc distinct do else end except false fetch for foreign from grant group having in
initially intersect into lateral leading limit localtime localtimestamp not null offset on only or
order placing primary references returning select session_user some symmetric table then to trailing
true union unique user using variadic when where window with
""".split()
"""Reserved words of PostgreSQL, which must be quoted as names."""


def fixed() -> dict[str, Rows]:
    """Rows of constant relations, and the system's rows of pg_class."""
    role = {
        "oid": OWNER,
        "rolname": OWNER_NAME,
        "rolpassword": "********",
        "rolconnlimit": -1,
        **dict.fromkeys(
            ("rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin"), True
        ),
        **dict.fromkeys(("rolreplication", "rolbypassrls"), False),
    }
    tables: dict[str, list[Mapping[str, object]]] = {
        "pg_class": [*_system_classes()],
        "pg_namespace": [
            {"oid": oid, "nspname": name, "nspowner": OWNER}
            for oid, name in (
                (PG_CATALOG, "pg_catalog"),
                (PUBLIC, SCHEMA),
                (INFORMATION_SCHEMA, "information_schema"),
            )
        ],
        "pg_am": [
            {"oid": HEAP, "amname": "heap", "amtype": "t"},
            {"oid": BTREE, "amname": "btree", "amtype": "i"},
        ],
        "pg_type": [*_types()],
        "pg_roles": [role],
        "pg_authid": [role],
        "pg_tablespace": [{"oid": 1663, "spcname": "pg_default", "spcowner": OWNER}],
        "pg_language": [{"oid": 14, "lanname": "sql", "lanowner": OWNER, "lanispl": False}],
        "pg_collation": [
            {
                "oid": oid,
                "collname": name,
                "collnamespace": PG_CATALOG,
                "collowner": OWNER,
                "collprovider": provider,
                "collisdeterministic": True,
                "collencoding": -1,
            }
            for oid, name, provider in (
                (DEFAULT_COLLATION, "default", "d"),
                (C_COLLATION, "C", "c"),
            )
        ],
        "pg_user": [
            {"usename": OWNER_NAME, "usesysid": OWNER, "usecreatedb": True, "usesuper": True}
        ],
        "pg_get_keywords": [
            {"word": word, "catcode": "R", "barelabel": False, "catdesc": "reserved"}
            for word in RESERVED
        ],
    }
    return {name: [row(name, found) for found in rows] for name, rows in tables.items()}


def class_row(name: str, oid: int, kind: str, columns: int) -> dict[str, object]:
    """pg_class of a relation of that kind (`r`, `v`, `i`), in the schema of users."""
    nothing = (
        *("reltype", "reloftype", "reltablespace", "relpages", "relallvisible", "reltoastrelid"),
        *("relchecks", "relrewrite", "relminmxid", "relfrozenxid"),
    )
    never = (
        *("relhasindex", "relisshared", "relhasrules", "relhastriggers", "relhassubclass"),
        *("relrowsecurity", "relforcerowsecurity", "relispartition"),
    )
    return {
        **dict.fromkeys(nothing, 0),
        **dict.fromkeys(never, False),
        "oid": oid,
        "relname": name,
        "relnamespace": PUBLIC,
        "relowner": OWNER,
        "relam": {"r": HEAP, "i": BTREE}.get(kind, 0),
        "relfilenode": 0 if kind == "v" else oid,
        "reltuples": 0.0 if kind == "i" else -1.0,
        "relpersistence": "p",
        "relkind": kind,
        "relnatts": columns,
        "relhasrules": kind == "v",
        "relispopulated": True,
        "relreplident": "d" if kind == "r" else "n",
    }


def _system_classes() -> Iterator[Mapping[str, object]]:
    for name, columns in RELATIONS.items():
        if name in _FUNCTIONS:
            continue
        informs = name.startswith(INFORMATION)
        kind = "v" if informs or name in _VIEWS else "r"
        found = class_row(name.removeprefix(INFORMATION), SYSTEM_OIDS[name], kind, len(columns))
        yield found | {"relnamespace": INFORMATION_SCHEMA if informs else PG_CATALOG}


# -- types -----------------------------------------------------------------------------------------

_CATEGORIES = {
    **dict.fromkeys(("bool",), "B"),
    **dict.fromkeys(("int2", "int4", "int8", "oid", "float4", "float8", "numeric"), "N"),
    **dict.fromkeys(("text", "name", "bpchar", "varchar"), "S"),
    **dict.fromkeys(("date", "time", "timestamp", "timestamptz"), "D"),
    "interval": "T",
    "record": "P",
    "char": "Z",
    "unknown": "X",
}
_PSEUDO = frozenset({"unknown", "record"})
_VECTORS = {"int2vector": 21, "oidvector": 26}
"""Their elements' types: unlike arrays they are types of their own."""
_ALIGNMENTS = {1: "c", 2: "s", 4: "i", 8: "d", 16: "c", 64: "c", -2: "c"}
_PREFERRED = frozenset({"bool", "text", "float8", "timestamptz", "oid", "interval"})
_UNDERSCORED = frozenset(
    {"date", "time", "timestamp", "timestamptz", "interval", "numeric", "json", "jsonb", "uuid"}
    | {"record"}
)
"""Types whose functions have a `_` after the type's name."""
_MODIFIED = frozenset(
    {"numeric", "time", "timestamp", "timestamptz", "interval", "bpchar", "varchar"}
)


def alignment(codec: ScalarCodec, *, array: bool = False) -> str:
    """How PostgreSQL aligns values of a type: c, s, i or d."""
    one = "d" if codec.name in ("interval", "record") else _ALIGNMENTS.get(codec.size, "i")
    if array:
        return "d" if one == "d" else "i"
    return one


def storage(codec: ScalarCodec, *, array: bool = False) -> str:
    """PostgreSQL's storage of a type: p plain, m and x also out of line."""
    if array:
        return "x"
    if codec.size > 0 or codec.name in ("unknown", *_VECTORS):
        return "p"
    return "m" if codec.name == "numeric" else "x"


def collation(codec: ScalarCodec) -> int:
    if codec.name == "name":
        return C_COLLATION
    return DEFAULT_COLLATION if codec.name in ("text", "bpchar", "varchar") else 0


def _types() -> Iterator[Mapping[str, object]]:
    for codec in CODECS:
        array = 0 if codec.name == "unknown" else codec.array
        yield _type(codec) | {
            "oid": codec.oid,
            "typname": codec.name,
            "typlen": codec.size,
            "typbyval": 0 < codec.size <= 8,
            "typtype": "p" if codec.name in _PSEUDO else "b",
            "typcategory": "A" if codec.name in _VECTORS else _CATEGORIES.get(codec.name, "U"),
            "typispreferred": codec.name in _PREFERRED,
            "typelem": 18 if codec.name == "name" else _VECTORS.get(codec.name, 0),
            "typarray": array,
            "typsubscript": _SUBSCRIPTS.get(codec.name, "-"),
            "typalign": alignment(codec),
            "typstorage": storage(codec),
            "typanalyze": "-",
            **_functions(f"{codec.name}_" if codec.name in _UNDERSCORED else codec.name),
        }
        if array:
            yield _type(codec) | {
                "oid": codec.array,
                "typname": f"_{codec.name}",
                "typlen": -1,
                "typbyval": False,
                "typtype": "p" if codec.name in _PSEUDO else "b",
                "typcategory": "P" if codec.name in _PSEUDO else "A",
                "typispreferred": False,
                "typelem": codec.oid,
                "typarray": 0,
                "typsubscript": "array_subscript_handler",
                "typalign": alignment(codec, array=True),
                "typstorage": storage(codec, array=True),
                "typanalyze": "array_typanalyze",
                **_functions("array_"),
            }


_SUBSCRIPTS = {
    "name": "raw_array_subscript_handler",
    "jsonb": "jsonb_subscript_handler",
    **dict.fromkeys(_VECTORS, "array_subscript_handler"),
}


def _type(codec: ScalarCodec) -> dict[str, object]:
    modifies = codec.name in _MODIFIED
    return {
        "typnamespace": PG_CATALOG,
        "typowner": OWNER,
        "typisdefined": True,
        "typdelim": ",",
        "typrelid": 0,
        "typnotnull": False,
        "typbasetype": 0,
        "typtypmod": -1,
        "typndims": 0,
        "typcollation": collation(codec),
        "typmodin": f"{codec.name}typmodin" if modifies else "-",
        "typmodout": f"{codec.name}typmodout" if modifies else "-",
    }


def _functions(name: str) -> dict[str, object]:
    kinds = {"typinput": "in", "typoutput": "out", "typreceive": "recv", "typsend": "send"}
    return {column: f"{name}{ending}" for column, ending in kinds.items()}
