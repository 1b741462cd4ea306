"""Syntax tree to canonical SQL: `to_sql` of a statement, a query or an expression is text that
parses to an equal node (with variables switched off: the text holds their values)."""

from __future__ import annotations

import re

from streamsql import nodes as n
from streamsql.nodes import ColumnRole
from streamsql.parser.generate.expressions import expression_sql, name, string, type_sql
from streamsql.parser.generate.queries import duration
from streamsql.parser.generate.text import listed, to_sql, words
from streamsql.parser.tokens.keywords import BARE_NAMES, KEYWORDS

__all__ = ["to_sql"]

_AS_WRITTEN = re.compile(r"[A-Za-z_][A-Za-z0-9_@]*")


def _resource(text: str) -> str:
    """A topic or subject: its case counts also without quotes."""
    bare = _AS_WRITTEN.fullmatch(text) and text.upper() not in KEYWORDS
    return text if bare else string(text)


def _option_name(text: str) -> str:
    return text if text in BARE_NAMES else _resource(text)


def _property_value(value: str | int | float | bool) -> str:
    return string(value) if isinstance(value, str) else str(value).upper()


def _properties(properties: n.Properties) -> str:
    return f"WITH {_in_parentheses(properties)}" if properties else ""


def _in_parentheses(properties: n.Properties) -> str:
    return listed(*(f"{_option_name(p.name)} = {_property_value(p.value)}" for p in properties))


_ROLES = {
    ColumnRole.VALUE: "",
    ColumnRole.KEY: " KEY",
    ColumnRole.PRIMARY_KEY: " PRIMARY KEY",
    ColumnRole.HEADERS: " HEADERS",
}


@to_sql.register
def _column_definition(node: n.ColumnDefinition) -> str:
    role = _ROLES.get(node.role)
    if role is None:
        role = f" HEADER({string(node.header or '')})"
    options = words(
        node.not_null and "NOT NULL",
        node.default is not None and f"DEFAULT ({expression_sql(node.default)})",
        node.generated is not None and f"AS ({expression_sql(node.generated)})",
    )
    return f"{name(node.name)} {type_sql(node.type)}{role} {options}".rstrip()


@to_sql.register
def _constraint(node: n.ConstraintDefinition) -> str:
    condition, action = expression_sql(node.condition), node.on_violation.value
    return f"CONSTRAINT {name(node.name)} EXPECT ({condition}) ON VIOLATION {action}"


@to_sql.register
def _watermark(node: n.WatermarkDefinition) -> str:
    return f"WATERMARK FOR {name(node.column)} AS {expression_sql(node.value)}"


def _columns(
    columns: tuple[n.ColumnDefinition, ...],
    constraints: tuple[n.ConstraintDefinition, ...] = (),
    watermark: n.WatermarkDefinition | None = None,
) -> str:
    given = [*map(_column_definition, columns), *map(_constraint, constraints)]
    given += [_watermark(watermark)] if watermark else []
    return listed(*given) if given else ""


# -- definitions ---------------------------------------------------------------------------------


@to_sql.register
def _create_source(node: n.CreateSource) -> str:
    return words(
        "CREATE",
        node.or_replace and "OR REPLACE",
        node.is_source and "SOURCE",
        node.kind.value,
        node.if_not_exists and "IF NOT EXISTS",
        name(node.name),
        _columns(node.columns, node.constraints, node.watermark),
        node.append_only and "APPEND ONLY",
        node.origin and to_sql(node.origin),
        _properties(node.properties),
    )


@to_sql.register
def _database_table(node: n.DatabaseTable) -> str:
    return f"FROM SOURCE {name(node.database)} TABLE {string(node.table)}"


@to_sql.register
def _create_database(node: n.CreateDatabase) -> str:
    exists = node.if_not_exists and "IF NOT EXISTS"
    return words("CREATE SOURCE", exists, name(node.name), _properties(node.properties))


@to_sql.register
def _drop_database(node: n.DropDatabase) -> str:
    return words("DROP SOURCE", node.if_exists and "IF EXISTS", name(node.name))


@to_sql.register
def _create_as_select(node: n.CreateAsSelect) -> str:
    return words(
        "CREATE",
        node.or_replace and "OR REPLACE",
        node.kind.value,
        node.if_not_exists and "IF NOT EXISTS",
        name(node.name),
        _columns((), node.constraints),
        _properties(node.properties),
        "AS",
        to_sql(node.query),
    )


@to_sql.register
def _insert_into(node: n.InsertInto) -> str:
    return words(
        "INSERT INTO",
        name(node.target),
        _names(node.columns),
        _properties(node.properties),
        to_sql(node.query),
        _returning(node.returning),
    )


def _returning(items: tuple[n.SelectItem, ...]) -> str:
    return f"RETURNING {', '.join(map(to_sql, items))}" if items else ""


def _where(condition: n.Expression | None) -> str:
    return "" if condition is None else f"WHERE {to_sql(condition)}"


@to_sql.register
def _update(node: n.Update) -> str:
    assigned = ", ".join(f"{name(column)} = {to_sql(value)}" for column, value in node.assignments)
    return words(
        "UPDATE",
        name(node.target),
        node.alias and f"AS {name(node.alias)}",
        f"SET {assigned}",
        node.relation is not None and f"FROM {to_sql(node.relation)}",
        _where(node.where),
        _returning(node.returning),
    )


@to_sql.register
def _delete(node: n.Delete) -> str:
    alias = node.alias and f"AS {name(node.alias)}"
    rest = _where(node.where), _returning(node.returning)
    return words("DELETE FROM", name(node.target), alias, *rest)


@to_sql.register
def _truncate(node: n.Truncate) -> str:
    return f"TRUNCATE {name(node.target)}"


@to_sql.register
def _flush(node: n.Flush) -> str:
    return "FLUSH"


def _names(names: tuple[str, ...]) -> str:
    return listed(*map(name, names)) if names else ""


def _values(values: tuple[n.Expression, ...]) -> str:
    return listed(*map(expression_sql, values))


@to_sql.register
def _insert_values(node: n.InsertValues) -> str:
    rows = ", ".join(map(_values, node.rows))
    into = words("INSERT INTO", name(node.target), _names(node.columns))
    return words(into, "VALUES", rows, _returning(node.returning))


@to_sql.register
def _drop_source(node: n.DropSource) -> str:
    return words(
        f"DROP {node.kind.value}",
        node.if_exists and "IF EXISTS",
        name(node.name),
        node.delete_topic and "DELETE TOPIC",
        node.cascade and "CASCADE",
    )


@to_sql.register
def _create_view(node: n.CreateView) -> str:
    return words(
        "CREATE",
        node.or_replace and "OR REPLACE",
        "VIEW",
        node.if_not_exists and "IF NOT EXISTS",
        name(node.name),
        _names(node.columns),
        "AS",
        to_sql(node.query),
    )


@to_sql.register
def _drop_view(node: n.DropView) -> str:
    exists = node.if_exists and "IF EXISTS"
    return words("DROP VIEW", exists, name(node.name), node.cascade and "CASCADE")


@to_sql.register
def _create_materialized_view(node: n.CreateMaterializedView) -> str:
    return words(
        "CREATE",
        node.or_replace and "OR REPLACE",
        "MATERIALIZED VIEW",
        node.if_not_exists and "IF NOT EXISTS",
        name(node.name),
        _names(node.columns),
        _properties(node.properties),
        "AS",
        to_sql(node.query),
    )


@to_sql.register
def _drop_materialized_view(node: n.DropMaterializedView) -> str:
    exists = node.if_exists and "IF EXISTS"
    cascade = node.cascade and "CASCADE"
    return words("DROP MATERIALIZED VIEW", exists, name(node.name), cascade)


@to_sql.register
def _create_function(node: n.CreateFunction) -> str:
    parameters = (words(p.name and name(p.name), type_sql(p.type)) for p in node.parameters)
    return words(
        "CREATE",
        node.or_replace and "OR REPLACE",
        node.aggregate and "AGGREGATE",
        "FUNCTION",
        node.if_not_exists and "IF NOT EXISTS",
        f"{name(node.name)}{listed(*parameters)}",
        f"RETURNS {type_sql(node.returns)}",
        f"LANGUAGE {node.language} AS {string(node.code)}",
    )


@to_sql.register
def _drop_function(node: n.DropFunction) -> str:
    return words("DROP FUNCTION", node.if_exists and "IF EXISTS", name(node.name))


@to_sql.register
def _alter_source(node: n.AlterSource) -> str:
    alterations = ", ".join(map(_alteration, node.alterations))
    return f"ALTER {node.kind.value} {name(node.name)} {alterations}"


def _alteration(node: n.Alteration) -> str:
    match node:
        case n.DropColumn():
            return words("DROP COLUMN", node.if_exists and "IF EXISTS", name(node.name))
        case n.RenameColumn():
            return f"RENAME COLUMN {name(node.name)} TO {name(node.new_name)}"
        case n.RetypeColumn():
            return f"ALTER COLUMN {name(node.name)} TYPE {type_sql(node.type)}"
    return f"ADD COLUMN {to_sql(node)}"


@to_sql.register
def _comment(node: n.Comment) -> str:
    comment = "NULL" if node.comment is None else string(node.comment)
    return words("COMMENT ON", node.kind.value, name(node.name), "IS", comment)


@to_sql.register
def _create_type(node: n.CreateType) -> str:
    exists = node.if_not_exists and "IF NOT EXISTS"
    return words("CREATE TYPE", exists, name(node.name), "AS", type_sql(node.type))


@to_sql.register
def _drop_type(node: n.DropType) -> str:
    return words("DROP TYPE", node.if_exists and "IF EXISTS", name(node.name))


@to_sql.register
def _create_sink(node: n.CreateSink) -> str:
    return _sink(node, name(node.source))


@to_sql.register
def _create_sink_of_all(node: n.CreateSinkOfAll) -> str:
    return _sink(node, "ALL TABLES")


def _sink(node: n.CreateSink | n.CreateSinkOfAll, reads: str) -> str:
    return words(
        "CREATE",
        node.or_replace and "OR REPLACE",
        "SINK",
        node.if_not_exists and "IF NOT EXISTS",
        f"{name(node.name)} FROM {reads}",
        _properties(node.properties),
    )


@to_sql.register
def _create_connector(node: n.CreateConnector) -> str:
    return words(
        f"CREATE {node.type.value} CONNECTOR",
        node.if_not_exists and "IF NOT EXISTS",
        name(node.name),
        _properties(node.properties) or "WITH ()",
    )


@to_sql.register
def _drop_outside(node: n.DropConnector | n.DropSink) -> str:
    kind = type(node).__name__.removeprefix("Drop").upper()
    return words(f"DROP {kind}", node.if_exists and "IF EXISTS", name(node.name))


# -- commands ------------------------------------------------------------------------------------


@to_sql.register
def _select_query(node: n.SelectQuery) -> str:
    return words(to_sql(node.query), node.as_of and to_sql(node.as_of))


@to_sql.register
def _as_of(node: n.AsOf) -> str:
    if node.time is None:
        return f"AS OF EPOCH {node.epoch}"
    return f"AS OF TIMESTAMP {to_sql(node.time)}"


@to_sql.register
def _show(node: n.Show) -> str:
    return words("SHOW", node.what.value, node.extended and "EXTENDED")


@to_sql.register
def _show_lineage(node: n.ShowLineage) -> str:
    column = "" if node.column is None else f".{name(node.column)}"
    return f"SHOW LINEAGE {node.direction.value} {name(node.name)}{column}"


@to_sql.register
def _describe(node: n.Describe) -> str:
    return words("DESCRIBE", name(node.name), node.extended and "EXTENDED")


@to_sql.register
def _describe_all(node: n.DescribeAll) -> str:
    return words(f"DESCRIBE {node.kind.value}S", node.extended and "EXTENDED")


@to_sql.register
def _describe_named(node: n.DescribeFunction | n.DescribeConnector | n.DescribeSink) -> str:
    kind = type(node).__name__.removeprefix("Describe").upper()
    return f"DESCRIBE {kind} {name(node.name)}"


@to_sql.register
def _describe_database(node: n.DescribeDatabase) -> str:
    return f"DESCRIBE SOURCE {name(node.name)}"


@to_sql.register
def _describe_errors(node: n.DescribeErrors) -> str:
    return words("DESCRIBE ERRORS", node.query_id and f"OF {name(node.query_id)}")


@to_sql.register
def _explain(node: n.Explain) -> str:
    what = to_sql(node.statement) if node.statement is not None else name(node.query_id or "")
    return words("EXPLAIN", node.verbose and "VERBOSE", what)


@to_sql.register
def _print(node: n.Print) -> str:
    return words(
        "PRINT",
        _resource(node.topic),
        node.from_beginning and "FROM BEGINNING",
        f"INTERVAL {node.interval}" if node.interval is not None else None,
        f"LIMIT {node.limit}" if node.limit is not None else None,
    )


@to_sql.register
def _control_query(node: n.ControlQuery) -> str:
    return f"{node.action.value} {'ALL' if node.query_id is None else name(node.query_id)}"


@to_sql.register
def _alter_query(node: n.AlterQuery) -> str:
    return f"ALTER QUERY {name(node.name)} SET {_in_parentheses(node.properties)}"


@to_sql.register
def _replay_errors(node: n.ReplayErrors) -> str:
    errors = words("REPLAY", node.all and "ALL", "ERRORS OF", name(node.query_id))
    where = node.where is not None and f"WHERE {to_sql(node.where)}"
    return words(errors, where, node.dry_run and "DRY RUN")


@to_sql.register
def _verify_query(node: n.VerifyQuery) -> str:
    return f"VERIFY QUERY {name(node.query_id)}"


@to_sql.register
def _set_property(node: n.SetProperty) -> str:
    return f"SET {string(node.name)} = {string(node.value)}"


@to_sql.register
def _unset_property(node: n.UnsetProperty) -> str:
    return f"UNSET {string(node.name)}"


@to_sql.register
def _alter_system(node: n.AlterSystem) -> str:
    return f"ALTER SYSTEM {string(node.name)} = {string(node.value)}"


@to_sql.register
def _define_variable(node: n.DefineVariable) -> str:
    return f"DEFINE {name(node.name)} = {string(node.value)}"


@to_sql.register
def _undefine_variable(node: n.UndefineVariable) -> str:
    return f"UNDEFINE {name(node.name)}"


@to_sql.register
def _run_script(node: n.RunScript) -> str:
    return f"RUN SCRIPT {string(node.path)}"


# -- assertions ----------------------------------------------------------------------------------


def _assert(exists: bool, what: str) -> str:
    return f"ASSERT {'' if exists else 'NOT EXISTS '}{what}"


@to_sql.register
def _assert_topic(node: n.AssertTopic) -> str:
    return words(
        _assert(node.exists, "TOPIC"),
        _resource(node.topic),
        _properties(node.properties),
        node.timeout and f"TIMEOUT {duration(node.timeout)}",
    )


@to_sql.register
def _assert_schema(node: n.AssertSchema) -> str:
    return words(
        _assert(node.exists, "SCHEMA"),
        f"SUBJECT {_resource(node.subject)}" if node.subject is not None else None,
        f"ID {node.id}" if node.id is not None else None,
        node.timeout and f"TIMEOUT {duration(node.timeout)}",
    )


@to_sql.register
def _assert_values(node: n.AssertValues) -> str:
    names = _names(node.columns)
    return words("ASSERT VALUES", name(node.source), names, "VALUES", _values(node.values))


@to_sql.register
def _assert_null_values(node: n.AssertNullValues) -> str:
    names = _names(node.columns)
    return words("ASSERT NULL VALUES", name(node.source), names, "KEY", _values(node.key))


@to_sql.register
def _assert_source(node: n.AssertSource) -> str:
    return words(
        f"ASSERT {node.kind.value}",
        name(node.name),
        _columns(node.columns),
        _properties(node.properties),
    )
