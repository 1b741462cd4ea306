"""PostgreSQL's SQL over pg_catalog as DuckDB reads it.

sqlglot does most of it. What it does not read is taken out of the text before; names of relations,
casts to types that name things (regclass ..), functions of the session and the names of columns
are seen to here. What has no counterpart is refused, never answered with something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from streamsql.api.language import lexemes
from streamsql.postgres.errors import NOT_SUPPORTED, PgError
from streamsql.postgres.relations.schema import INFORMATION, RELATIONS

_BEFORE = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"OPERATOR\s*\(\s*([^\s)]+)\s*\)", r"\1"),
        (r"\bCOLLATE\s+(?:\"?default\"?|\"C\"|\"POSIX\")", ""),
        (r"::\s*(?:oid|regtype|regclass)\s*\[\s*\]", "::bigint[]"),
        (r"::\s*(?:name|\"char\"|cstring|regtype)\s*\[\s*\]", "::text[]"),
        (r"::\s*\"char\"", "::text"),
        (r"::\s*information_schema\.\w+", "::text"),
    )
)
_LIKE_TEXT = ("NAME", "CSTRING", "XID", "REGPROC", "REGPROCEDURE", "REGROLE", "CHAR", "REGOPER")
_CHANGES = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Drop)
_ROWS = ("unnest", "generate_series", "generate_subscripts")
"""Functions that may stand in FROM: DuckDB's own read files and tell of its insides."""
_REFUSED = frozenset("pg_sleep sleep nextval setval currval getenv getvariable query".split())
_NAMING = {
    "REGCLASS": "regclass_name",
    "REGTYPE": "regtype_name",
    "REGNAMESPACE": "regnamespace_name",
}


@dataclass(frozen=True)
class Context:
    """What a query asks of its session, and how names are found."""

    user: str
    database: str
    setting: Callable[[str], str]
    oid: Callable[[str, str], int | None]
    """The number of a relation, type or namespace (`REGCLASS` ..) by its name."""


def rewritten(text: str, context: Context) -> str:
    """The query for DuckDB; PgError for what cannot be answered."""
    text = _unqualified(text)
    for pattern, replacement in _BEFORE:
        text = pattern.sub(replacement, text)
    try:
        (tree,) = sqlglot.parse(text, read="postgres")
    except (SqlglotError, ValueError) as error:
        raise refused(str(error).splitlines()[0]) from None
    if not isinstance(tree, exp.Query) or tree.find(*_CHANGES) is not None:
        raise refused("Only queries are answered here, which change nothing")
    _name_columns(tree)
    _relations(tree)
    # From the inside out: what is put in the place of something is not looked at again.
    for node in reversed(list(tree.walk(bfs=False))):
        changed = _changed(node, context)
        if changed is not node:
            node.replace(changed)
    return tree.sql(dialect="duckdb")


def _unqualified(text: str) -> str:
    """Without `pg_catalog.`, which is where everything is looked for anyway."""
    tokens = [(kind, piece) for kind, piece, _ in lexemes(text)]
    kept: list[str] = []
    for at, (kind, piece) in enumerate(tokens):
        if kind == "COMMENT":
            continue
        here = piece.strip('"').lower() == "pg_catalog" and kind in ("WORD", "QUOTED")
        if here and at + 1 < len(tokens) and tokens[at + 1][1] == ".":
            continue
        behind = piece == "." and at > 0 and tokens[at - 1][1].strip('"').lower() == "pg_catalog"
        if not behind:
            kept.append(piece)
    return "".join(kept)


def refused(reason: str) -> PgError:
    """What is asked of pg_catalog and is not there."""
    return PgError(
        NOT_SUPPORTED,
        "this query of the system catalog cannot be answered",
        detail=reason.removesuffix(".") + ".",
        hint="Queries of streams and tables are answered by the engine, those of pg_catalog and "
        "information_schema by a copy of what is in it; one cannot ask both at once.",
    )


def _name_columns(tree: exp.Query) -> None:
    """Columns without a name get PostgreSQL's."""
    select = tree.find(exp.Select) if not isinstance(tree, exp.Select) else tree
    if select is None:
        return
    named = []
    for item in select.expressions:
        plain = isinstance(item, exp.Alias | exp.Column | exp.Star | exp.Dot)
        named.append(item if plain else exp.alias_(item, _name_of(item), quoted=True))
    select.set("expressions", named)


def _name_of(item: exp.Expr) -> str:
    if isinstance(item, exp.Cast):
        inner = _name_of(item.this) if not isinstance(item.this, exp.Column) else item.this.name
        return item.to.sql("postgres").lower() if inner == "?column?" else inner
    if isinstance(item, exp.Column):
        return item.name
    if isinstance(item, exp.Dot):
        return _name_of(item.expression)
    if isinstance(item, exp.Case):
        return "case"
    if isinstance(item, exp.Anonymous):
        return item.name.lower()
    if isinstance(item, exp.Func) and not isinstance(item, exp.Binary):
        return item.sql("postgres").partition("(")[0].strip().lower()
    return "?column?"


def _relations(tree: exp.Query) -> None:
    """Names of relations lead to our tables."""
    defined = {table.alias for table in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier):
            called = table.this.sql("postgres").partition("(")[0].lower()
            if called not in _ROWS:
                raise refused(f"There is no {called} among the functions that give rows")
            continue
        name, schema = table.name.lower(), table.db.lower()
        if not schema and name in defined:
            continue
        ours = f"{INFORMATION}{name}" if schema == "information_schema" else name
        if ours not in RELATIONS or schema not in ("", "pg_catalog", "information_schema"):
            shown = f"{schema}.{name}" if schema else name
            raise refused(f"There is no {shown} among the system's relations")
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
        table.set("this", exp.to_identifier(ours, quoted=True))
        table.set("db", exp.to_identifier("main"))
        table.set("catalog", None)
    for column in tree.find_all(exp.Column):
        # schema.table.column: the table goes by its name alone now.
        column.set("db", None)
        column.set("catalog", None)


def _changed(node: exp.Expr, context: Context) -> exp.Expr:
    if isinstance(node, exp.Cast):
        return _cast(node, context)
    if isinstance(node, exp.Anonymous):
        return _call(node, context)
    if isinstance(node, exp.CurrentUser | exp.SessionUser):
        return exp.Literal.string(context.user)
    if isinstance(node, exp.CurrentSchema):
        return exp.Literal.string("public")
    if isinstance(node, exp.CurrentCatalog | exp.CurrentDatabase):
        return exp.Literal.string(context.database)
    if isinstance(node, exp.Column) and not node.table and not node.this.quoted:
        if node.name.lower() in ("current_user", "session_user", "user", "current_role"):
            return exp.Literal.string(context.user)
        if node.name.lower() == "current_catalog":
            return exp.Literal.string(context.database)
    return node


def _cast(node: exp.Cast, context: Context) -> exp.Expr:
    kind = node.to.sql("postgres").upper()
    inner = node.this
    if kind in _NAMING:
        if isinstance(inner, exp.Literal) and inner.is_string:
            return _number(kind, inner.name, context)
        return exp.func(_NAMING[kind], inner)
    if kind == "OID":
        if isinstance(inner, exp.Anonymous) and inner.name in _NAMING.values():
            return exp.func("regclass_oid", inner.expressions[0])
        return exp.cast(inner, "BIGINT")
    if kind in _LIKE_TEXT:
        return exp.cast(inner, "VARCHAR")
    return node


def _number(kind: str, name: str, context: Context) -> exp.Expr:
    if name.isdigit():
        return exp.Literal.number(name)
    last = name.rpartition(".")[2]
    plain = last[1:-1] if last.startswith('"') else last.lower()
    found = context.oid(kind, plain)
    if found is None:
        what = "type" if kind == "REGTYPE" else "relation"
        raise PgError("42704" if what == "type" else "42P01", f'{what} "{name}" does not exist')
    return exp.Literal.number(found)


def _call(node: exp.Anonymous, context: Context) -> exp.Expr:
    name = node.name.lower()
    given = node.expressions
    first = given[0] if given else None
    plain = first.this if isinstance(first, exp.Cast) else first
    text = plain.name if isinstance(plain, exp.Literal) else None
    if name in ("current_database", "current_catalog"):
        return exp.Literal.string(context.database)
    if name in ("current_user", "session_user", "user", "current_role"):
        return exp.Literal.string(context.user)
    if name == "current_schema":
        return exp.Literal.string("public")
    if name == "current_schemas":
        implicit = isinstance(first, exp.Boolean) and first.this
        schemas = ["pg_catalog", "public"] if implicit else ["public"]
        return exp.array(*(exp.Literal.string(schema) for schema in schemas))
    if name == "current_setting" and text is not None:
        return _setting(text, len(given) > 1, context)
    if name == "current_setting":
        raise refused("current_setting takes the name of a setting")
    if name == "set_config" and len(given) == 3 and isinstance(given[1], exp.Literal):
        return exp.Literal.string(given[1].name)
    if name in ("to_regclass", "to_regtype") and text is not None:
        last = text.rpartition(".")[2].strip('"')
        found = context.oid(name.removeprefix("to_").upper(), last)
        return exp.null() if found is None else exp.Literal.number(found)
    if name in _REFUSED or name.startswith(("read_", "duckdb_", "pg_sleep", "pragma_")):
        raise refused(f"There is no function {name}")
    if name in ("json_build_object", "jsonb_build_object"):
        return exp.Anonymous(this="json_object", expressions=given)
    if name == "pg_get_expr" and len(given) == 3:
        return exp.func("pg_get_expr", *given[:2])
    if name == "pg_advisory_unlock_all":
        return exp.null()
    return node


def _setting(name: str, lenient: bool, context: Context) -> exp.Expr:
    try:
        return exp.Literal.string(context.setting(name.lower()))
    except PgError:
        if lenient:
            return exp.null()
        raise
