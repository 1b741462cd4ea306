"""Functions and views of pg_catalog in DuckDB's SQL. A macro's argument is substituted textually,
so macros' own names begin with `q_`."""

from __future__ import annotations

from streamsql.postgres.settings import VERSION

_TYPE_NAMES = """
CREATE TABLE main.type_names AS SELECT * FROM (VALUES
  ('bool', 'boolean'), ('int2', 'smallint'), ('int4', 'integer'), ('int8', 'bigint'),
  ('float4', 'real'), ('float8', 'double precision'), ('bpchar', 'character'),
  ('varchar', 'character varying'), ('time', 'time without time zone'),
  ('timestamp', 'timestamp without time zone'), ('timestamptz', 'timestamp with time zone'),
  ('char', '"char"')
) AS t(typname, shown)
"""
_BASE_NAME = """
(SELECT coalesce(q_n.shown, q_e.typname) || CASE WHEN q_t.typelem <> 0 THEN '[]' ELSE '' END
 FROM main.pg_type q_t
 JOIN main.pg_type q_e ON q_e.oid = CASE WHEN q_t.typelem <> 0 THEN q_t.typelem ELSE q_t.oid END
 LEFT JOIN main.type_names q_n ON q_n.typname = q_e.typname WHERE q_t.oid = type_oid)
"""
_FORMAT_TYPE = f"""
CREATE MACRO format_type(type_oid, modifier) AS CASE
  WHEN type_oid IS NULL THEN NULL
  WHEN type_oid IN (1700, 1231) AND CAST(modifier AS INT) > 4 THEN
    'numeric(' || ((CAST(modifier AS INT) - 4) >> 16) || ','
    || ((CAST(modifier AS INT) - 4) & 65535) || ')'
    || CASE WHEN type_oid = 1231 THEN '[]' ELSE '' END
  ELSE coalesce({_BASE_NAME}, '???') END
"""
_KEY_COLUMNS = """
(SELECT string_agg(q_a.attname, ', ' ORDER BY q_a.attnum) FROM main.pg_attribute q_a
 WHERE q_a.attrelid = {index})
"""
_INDEX = f"""
CREATE MACRO index_definition(index_oid) AS (
  SELECT 'CREATE UNIQUE INDEX ' || q_i.relname || ' ON public.' || q_r.relname || ' USING btree ('
    || {_KEY_COLUMNS.format(index="q_i.oid")} || ')'
  FROM main.pg_index q_x JOIN main.pg_class q_i ON q_i.oid = q_x.indexrelid
  JOIN main.pg_class q_r ON q_r.oid = q_x.indrelid WHERE q_i.oid = index_oid)
"""
_INDEX_PARTS = """
CREATE MACRO pg_get_indexdef(index_oid) AS index_definition(index_oid),
(index_oid, number, pretty) AS CASE WHEN number = 0 THEN index_definition(index_oid) ELSE (
  SELECT q_a.attname FROM main.pg_attribute q_a
  WHERE q_a.attrelid = index_oid AND q_a.attnum = number) END
"""
_CONSTRAINT = f"""
CREATE MACRO constraint_definition(constraint_oid) AS (
  SELECT CASE q_c.contype WHEN 'c' THEN 'CHECK (' || q_c.conbin || ')'
    ELSE 'PRIMARY KEY (' || {_KEY_COLUMNS.format(index="q_c.conindid")} || ')' END
  FROM main.pg_constraint q_c WHERE q_c.oid = constraint_oid)
"""
_CONSTRAINT_FORMS = """
CREATE MACRO pg_get_constraintdef(o) AS constraint_definition(o),
(o, pretty) AS constraint_definition(o)
"""
_VIEW = """
CREATE MACRO view_definition(view_oid) AS (
  SELECT q_v.definition FROM (
    SELECT viewname, definition FROM main.pg_views
    UNION ALL SELECT matviewname, definition FROM main.pg_matviews) q_v
  JOIN main.pg_class q_c ON q_c.relname = q_v.viewname WHERE q_c.oid = view_oid)
"""
_VIEW_FORMS = """
CREATE MACRO pg_get_viewdef(o) AS view_definition(o), (o, pretty) AS view_definition(o)
"""
_COMMENT = """(SELECT q_d.description FROM main.pg_description q_d WHERE q_d.objoid = object_oid
 AND q_d.objsubid = {number})"""
_CONSTANTS = {
    "array_lower(a, d)": "CASE WHEN len(a) > 0 THEN 1 END",
    "array_upper(a, d)": "CASE WHEN len(a) > 0 THEN len(a) END",
    "inet_server_addr()": "NULL::VARCHAR",
    "inet_server_port()": "NULL::INTEGER",
    "pg_client_encoding()": "'UTF8'",
    "_pg_expandarray(a)": """unnest(
        [{'x': a[q_i], 'n': q_i::INTEGER} FOR q_i IN range(1, len(a) + 1)])""",
    "parse_ident(t)": """list_transform(
        regexp_extract_all(t, '"(?:[^"]|"")+"|[^".]+'), lambda q_part: CASE
        WHEN q_part[1] = '"' THEN replace(q_part[2:-2], '""', '"') ELSE lower(q_part) END)""",
    "pg_encoding_to_char(e)": "'UTF8'",
    "pg_get_expr(e, o)": "e::VARCHAR",
    "pg_get_function_arguments(o)": "NULL::VARCHAR",
    "pg_get_function_identity_arguments(o)": "NULL::VARCHAR",
    "pg_get_function_result(o)": "NULL::VARCHAR",
    "pg_get_functiondef(o)": "NULL::VARCHAR",
    "pg_get_partkeydef(o)": "NULL::VARCHAR",
    "pg_get_ruledef(o)": "NULL::VARCHAR",
    "pg_get_serial_sequence(t, c)": "NULL::VARCHAR",
    "pg_get_statisticsobjdef_columns(o)": "NULL::VARCHAR",
    "pg_get_triggerdef(o)": "NULL::VARCHAR",
    "pg_get_userbyid(o)": "'streamsql'",
    "pg_is_in_recovery()": "FALSE",
    "pg_is_other_temp_schema(o)": "FALSE",
    "pg_my_temp_schema()": "0",
    "pg_relation_is_publishable(o)": "FALSE",
    "pg_stat_get_numscans(o)": "NULL::BIGINT",
    "pg_size_pretty(s)": "NULL::VARCHAR",
    "pg_tablespace_location(o)": "''",
    "shobj_description(o, c)": "NULL::VARCHAR",
    "quote_ident(t)": """CASE WHEN regexp_full_match(t, '[a-z_][a-z0-9_$]*')
        AND t NOT IN (SELECT q_k.word FROM main.pg_get_keywords q_k) THEN t
        ELSE '"' || replace(t, '"', '""') || '"' END""",
    "quote_literal(t)": "chr(39) || replace(t, chr(39), chr(39) || chr(39)) || chr(39)",
    "regclass_name(o)": """coalesce(
        (SELECT q_c.relname FROM main.pg_class q_c WHERE q_c.oid = o), o::VARCHAR)""",
    "regtype_name(o)": "format_type(o, NULL)",
    "regnamespace_name(o)": """coalesce(
        (SELECT q_n.nspname FROM main.pg_namespace q_n WHERE q_n.oid = o), o::VARCHAR)""",
    "regclass_oid(o)": """coalesce(try_cast(o AS BIGINT),
        (SELECT min(q_c.oid) FROM main.pg_class q_c 
         WHERE q_c.relname = parse_ident(o::VARCHAR)[-1]))""",
    "to_regclass(t)": "(SELECT min(q_c.oid) FROM main.pg_class q_c WHERE q_c.relname = t)",
    "to_regtype(t)": "(SELECT min(q_t.oid) FROM main.pg_type q_t WHERE q_t.typname = t)",
    "version()": f"'PostgreSQL {VERSION} (streamsql)'",
}
_VISIBLE = ("table", "type", "function", "collation", "operator", "opclass", "statistics_obj")
_SIZES = ("pg_relation_size", "pg_table_size", "pg_total_relation_size", "pg_indexes_size")
_PRIVILEGES = ("table", "schema", "database", "column", "any_column", "sequence", "function")


def macros() -> list[str]:
    """The statements that create the functions; the tables exist already."""
    made = [_TYPE_NAMES, _FORMAT_TYPE, _INDEX, _INDEX_PARTS, _CONSTRAINT, _CONSTRAINT_FORMS]
    made += [_VIEW, _VIEW_FORMS]
    made += [f"CREATE MACRO {head} AS {body}" for head, body in _CONSTANTS.items()]
    made += [f"CREATE MACRO pg_{what}_is_visible(o) AS TRUE" for what in _VISIBLE]
    # The size of a topic is unknown here.
    made += [f"CREATE MACRO {name}(o) AS NULL::BIGINT, (o, f) AS NULL::BIGINT" for name in _SIZES]
    made += [
        f"CREATE MACRO has_{what}_privilege(o, p) AS TRUE, (u, o, p) AS TRUE, (u, o, c, p) AS TRUE"
        for what in _PRIVILEGES
    ]
    made.append("CREATE MACRO pg_has_role(r, p) AS TRUE, (u, r, p) AS TRUE")
    whole, one = _COMMENT.format(number=0), _COMMENT.format(number="number")
    made.append(f"CREATE MACRO obj_description(object_oid) AS {whole}, (object_oid, c) AS {whole}")
    made.append(f"CREATE MACRO col_description(object_oid, number) AS {one}")
    return made


FUNCTIONS = frozenset(
    {
        *(head.partition("(")[0] for head in _CONSTANTS),
        *(f"pg_{what}_is_visible" for what in _VISIBLE),
        *(f"has_{what}_privilege" for what in _PRIVILEGES),
        *_SIZES,
        *("format_type", "pg_backend_pid", "obj_description", "col_description", "pg_has_role"),
        *("current_schema", "current_schemas", "current_database", "current_setting"),
        *("set_config", "session_user", "current_user", "current_role", "user", "current_catalog"),
        *("pg_advisory_unlock_all", "to_regclass", "to_regtype"),
    }
)
"""The functions that are handled here, in lower case: a SELECT of these alone is a system query."""
