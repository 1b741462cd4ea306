"""Rewrites PostgreSQL's SQL over pg_catalog for DuckDB. sqlglot does most of it; unsupported syntax
is removed from the text first. Relation names, casts to types that name objects (regclass ..),
session functions and column names are handled here. Queries without equivalent are rejected."""

from __future__ import annotations

import re
from itertools import groupby

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from streamsql.api.language import lexemes
from streamsql.postgres.relations.expressions import Context, changed, refused
from streamsql.postgres.relations.fixed import SYSTEM_OIDS
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
_NOT_NAMES = ('"default"', '"c"', '"posix"', '"char"')
"""Collations and a type, which are quoted in the patterns."""
_CHANGES = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Drop)
_ROWS = ("unnest", "generate_series", "generate_subscripts")
"""Table functions allowed in FROM: DuckDB's own could read files or internals."""
_VALUES = ("string_to_array", "current_schema", "current_schemas", "current_database")
"""Functions of one value that clients write in FROM."""
_NAMES_TO_QUOTE = frozenset("select insert update delete table references order group user".split())
"""Names after AS and after a dot that sqlglot would parse as keywords."""


def rewritten(text: str, context: Context) -> str:
    """The query for DuckDB; PgError if it cannot be answered."""
    text = _readable(_unqualified(text))
    try:
        (tree,) = sqlglot.parse(text, read="postgres")
    except (SqlglotError, ValueError) as error:
        raise refused(str(error).splitlines()[0]) from None
    if not isinstance(tree, exp.Query) or tree.find(*_CHANGES) is not None:
        raise refused("Only read-only queries are supported")
    for name in tree.find_all(exp.Identifier):
        if not name.quoted:
            name.set("this", name.name.lower())
    _name_columns(tree)
    _relations(tree)
    # Bottom-up: replacements are not visited again.
    for node in reversed(list(tree.walk(bfs=False))):
        found = changed(node, context)
        if found is not node:
            node.replace(found)
    return tree.sql(dialect="duckdb")


def _readable(text: str) -> str:
    """Removes syntax that sqlglot does not support; literals and other names are unchanged."""
    runs = groupby(lexemes(text), _is_literal)
    found = ((literal, "".join(piece for _, piece, _ in run)) for literal, run in runs)
    return "".join(piece if literal else _replaced(piece) for literal, piece in found)


def _is_literal(lexeme: tuple[str, str, int]) -> bool:
    kind, piece, _ = lexeme
    return kind == "TEXT_LITERAL" or (kind == "QUOTED" and piece.lower() not in _NOT_NAMES)


def _replaced(text: str) -> str:
    for pattern, replacement in _BEFORE:
        text = pattern.sub(replacement, text)
    return text


def _unqualified(text: str) -> str:
    """Without `pg_catalog.`, the default schema."""
    tokens = [(kind, piece) for kind, piece, _ in lexemes(text)]
    kept: list[str] = []
    before = ""
    for at, (kind, piece) in enumerate(tokens):
        if kind == "COMMENT":
            continue
        if before.upper() in ("AS", ".") and piece.lower() in _NAMES_TO_QUOTE:
            piece = f'"{piece.lower()}"'
        if kind != "SPACE":
            before = piece
        here = piece.strip('"').lower() == "pg_catalog" and kind in ("WORD", "QUOTED")
        if here and at + 1 < len(tokens) and tokens[at + 1][1] == ".":
            continue
        behind = piece == "." and at > 0 and tokens[at - 1][1].strip('"').lower() == "pg_catalog"
        if not behind:
            kept.append(piece)
    return "".join(kept)


def _name_columns(tree: exp.Query) -> None:
    """Columns without a name get PostgreSQL's."""
    for select in tree.find_all(exp.Select):
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
    """Replaces the names of relations by DuckDB's."""
    defined = {table.alias for table in tree.find_all(exp.CTE)}
    oids: dict[str, int] = {}
    for table in list(tree.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier):
            _function(table)
            continue
        name, schema = table.name.lower(), table.db.lower()
        if not schema and name in defined:
            continue
        ours = f"{INFORMATION}{name}" if schema == "information_schema" else name
        if ours not in RELATIONS or schema not in ("", "pg_catalog", "information_schema"):
            shown = f"{schema}.{name}" if schema else name
            raise refused(f"unknown system relation {shown}")
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
        oids[table.alias] = SYSTEM_OIDS[ours]
        table.set("this", exp.to_identifier(ours, quoted=True))
        table.set("db", exp.to_identifier("main"))
        table.set("catalog", None)
    for column in list(tree.find_all(exp.Column)):
        # schema.table.column: only the table's name is left.
        column.set("db", None)
        column.set("catalog", None)
        if column.name == "tableoid" and column.table in oids:
            column.replace(exp.Literal.number(oids[column.table]))


def _function(table: exp.Table) -> None:
    """A function in FROM: its name is also that of its only column."""
    called = table.this.sql("postgres").partition("(")[0].lower()
    alias = table.args.get("alias")
    if called == "pg_get_keywords":
        name = exp.to_identifier(called, quoted=True)
        table.replace(exp.Table(this=name, db=exp.to_identifier("main"), alias=alias))
    elif called in _VALUES:
        name = table.alias or called
        row = exp.select(exp.alias_(table.this, name, quoted=True))
        table.replace(row.subquery(name))
    elif called not in _ROWS:
        raise refused(f"unknown table function {called}")
    elif alias is not None and not alias.columns:
        alias.set("columns", [alias.this.copy()])
    if called == "generate_series" and alias is not None:
        # Of int4, as its arguments are.
        numbers = exp.cast(exp.Unnest(expressions=[table.this]), "INTEGER")
        row = exp.select(exp.alias_(numbers, alias.columns[0].name, quoted=True))
        table.replace(row.subquery(alias.name))
