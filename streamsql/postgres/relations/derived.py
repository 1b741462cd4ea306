"""Derived relations of pg_catalog and information_schema in DuckDB's SQL. Each lists its columns
with values; all others are null."""

from __future__ import annotations

from streamsql.postgres.relations.fixed import PUBLIC
from streamsql.postgres.sql.texts import DATABASE

_OWN = f"relnamespace = {PUBLIC}"
_COLUMNS = f"""
SELECT '{DATABASE}' AS table_catalog, 'public' AS table_schema, c.relname AS table_name,
  a.attname AS column_name, a.attnum AS ordinal_position,
  CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END AS is_nullable,
  CASE WHEN t.typelem <> 0 THEN 'ARRAY' ELSE format_type(a.atttypid, NULL) END AS data_type,
  CASE WHEN t.typname = 'text' THEN 1073741824 END AS character_octet_length,
  CASE t.typname WHEN 'int4' THEN 32 WHEN 'int8' THEN 64 WHEN 'float8' THEN 53
    WHEN 'numeric' THEN (a.atttypmod - 4) >> 16 END AS numeric_precision,
  CASE WHEN t.typname IN ('int4', 'int8', 'float8') THEN 2 WHEN t.typname = 'numeric' THEN 10 END
    AS numeric_precision_radix,
  CASE t.typname WHEN 'int4' THEN 0 WHEN 'int8' THEN 0
    WHEN 'numeric' THEN (a.atttypmod - 4) & 65535 END AS numeric_scale,
  CASE WHEN t.typname IN ('time', 'timestamptz') THEN 6 WHEN t.typname = 'date' THEN 0 END
    AS datetime_precision,
  '{DATABASE}' AS udt_catalog, 'pg_catalog' AS udt_schema, t.typname AS udt_name,
  a.attnum::VARCHAR AS dtd_identifier, 'NO' AS is_self_referencing, 'NO' AS is_identity,
  'NO' AS identity_cycle, 'NEVER' AS is_generated, 'YES' AS is_updatable
FROM main.pg_attribute a JOIN main.pg_class c ON c.oid = a.attrelid
JOIN main.pg_type t ON t.oid = a.atttypid WHERE c.relkind IN ('r', 'v')
"""
_CONSTRAINT = f"""
'{DATABASE}' AS constraint_catalog, 'public' AS constraint_schema, k.conname AS constraint_name,
'{DATABASE}' AS table_catalog, 'public' AS table_schema, c.relname AS table_name
"""
_WITH_CLASS = "FROM main.pg_constraint k JOIN main.pg_class c ON c.oid = k.conrelid"
_WITH_KEYS = f"{_WITH_CLASS} JOIN main.pg_attribute a ON a.attrelid = k.conindid"
_DERIVED = {
    "pg_tables": f"""
SELECT 'public' AS schemaname, relname AS tablename, 'streamsql' AS tableowner,
  relhasindex AS hasindexes, FALSE AS hasrules, FALSE AS hastriggers, FALSE AS rowsecurity
FROM main.pg_class WHERE relkind = 'r' AND {_OWN}
""",
    "pg_indexes": """
SELECT 'public' AS schemaname, r.relname AS tablename, i.relname AS indexname,
  pg_get_indexdef(i.oid) AS indexdef
FROM main.pg_index x JOIN main.pg_class i ON i.oid = x.indexrelid
JOIN main.pg_class r ON r.oid = x.indrelid
""",
    "pg_stat_user_tables": f"""
SELECT oid AS relid, 'public' AS schemaname, relname
FROM main.pg_class WHERE relkind = 'r' AND {_OWN}
""",
    "pg_database": f"""
SELECT 5 AS oid, '{DATABASE}' AS datname, 10 AS datdba, 6 AS encoding, 'c' AS datlocprovider,
  FALSE AS datistemplate, TRUE AS datallowconn, -1 AS datconnlimit, 0 AS datfrozenxid,
  0 AS datminmxid, 1663 AS dattablespace, 'C.UTF-8' AS datcollate, 'C.UTF-8' AS datctype
""",
    "information_schema_schemata": f"""
SELECT '{DATABASE}' AS catalog_name, nspname AS schema_name, 'streamsql' AS schema_owner
FROM main.pg_namespace
""",
    "information_schema_tables": f"""
SELECT '{DATABASE}' AS table_catalog, 'public' AS table_schema, relname AS table_name,
  CASE relkind WHEN 'r' THEN 'BASE TABLE' ELSE 'VIEW' END AS table_type,
  CASE relkind WHEN 'r' THEN 'YES' ELSE 'NO' END AS is_insertable_into, 'NO' AS is_typed
FROM main.pg_class WHERE relkind IN ('r', 'v') AND {_OWN}
""",
    "information_schema_views": f"""
SELECT '{DATABASE}' AS table_catalog, 'public' AS table_schema, viewname AS table_name,
  definition AS view_definition, 'NONE' AS check_option, 'NO' AS is_updatable,
  'NO' AS is_insertable_into, 'NO' AS is_trigger_updatable, 'NO' AS is_trigger_deletable,
  'NO' AS is_trigger_insertable_into
FROM main.pg_views
""",
    "information_schema_columns": _COLUMNS,
    "information_schema_table_constraints": f"""
SELECT {_CONSTRAINT}, CASE k.contype WHEN 'c' THEN 'CHECK' ELSE 'PRIMARY KEY' END
    AS constraint_type,
  'NO' AS is_deferrable, 'NO' AS initially_deferred, 'YES' AS enforced
{_WITH_CLASS}
""",
    "information_schema_check_constraints": f"""
SELECT '{DATABASE}' AS constraint_catalog, 'public' AS constraint_schema,
  conname AS constraint_name, '(' || conbin || ')' AS check_clause
FROM main.pg_constraint WHERE contype = 'c'
""",
    "information_schema_key_column_usage": f"""
SELECT {_CONSTRAINT}, a.attname AS column_name, a.attnum AS ordinal_position {_WITH_KEYS}
""",
    "information_schema_constraint_column_usage": f"""
SELECT {_CONSTRAINT}, a.attname AS column_name {_WITH_KEYS}
""",
}


def derived() -> list[str]:
    return [
        statement
        for name, select in _DERIVED.items()
        for statement in (
            f'DELETE FROM main."{name}"',
            f'INSERT INTO main."{name}" BY NAME {select}',
        )
    ]
