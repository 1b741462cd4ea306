"""Translates PostgreSQL expressions over pg_catalog for DuckDB: casts to object types, session
functions, and functions with another meaning."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from streamsql.postgres.errors import NOT_SUPPORTED, WRONG_VALUE, PgError
from streamsql.postgres.values.types import TEXT, PgType, decoder

_LIKE_TEXT = ("NAME", "CSTRING", "XID", "REGPROC", "REGPROCEDURE", "REGROLE", "CHAR", "REGOPER")
_WHOLE = ("INT", "BIGINT", "SMALLINT", "OID", "INTEGER")
TEXTS = PgType(TEXT.codec, array=True)
_NAME = re.compile(r'"((?:[^"]|"")+)"|([^".]*[^".\s][^".]*)')
_PLACE = re.compile(r"%([sIL%])")
_FUNCTIONS = frozenset(
    "typinput typoutput typreceive typsend typmodin typmodout typanalyze typsubscript".split()
)
"""Columns of pg_type that name functions; `-` without one."""
_REFUSED = frozenset("pg_sleep sleep nextval setval currval getenv getvariable query".split())
_NAMING = {
    "REGCLASS": "regclass_name",
    "REGTYPE": "regtype_name",
    "REGNAMESPACE": "regnamespace_name",
}


@dataclass(frozen=True)
class Context:
    """Session values and name lookup for a query."""

    user: str
    database: str
    process: int
    """The number of the session's connection."""
    setting: Callable[[str], str]
    oid: Callable[[str, str], int | None]
    """The OID of a relation, type or namespace (`REGCLASS` ..) by name."""


def refused(reason: str) -> PgError:
    """The error for an unsupported query of pg_catalog."""
    return PgError(
        NOT_SUPPORTED,
        "this query of the system catalog cannot be answered",
        detail=reason.removesuffix(".") + ".",
        hint="The engine answers queries of streams and tables, and a separate copy those of "
        "pg_catalog and "
        "information_schema; one query cannot use both.",
    )


def changed(node: exp.Expr, context: Context) -> exp.Expr:
    """The replacement of one node whose children have been replaced, or the node itself. PgError if
    it is unsupported."""
    if isinstance(node, exp.Cast):
        return _cast(node, context)
    if isinstance(node, exp.Anonymous):
        return _call(node, context)
    if isinstance(node, exp.Any | exp.All):
        return _elements(node)
    if isinstance(node, exp.Dot) and node.name and isinstance(node.expression, exp.Func):
        return node.expression  # A function of information_schema's.
    if isinstance(node, exp.Substring):
        return _substring(node)
    if isinstance(node, exp.Div):
        return _division(node)
    if isinstance(node, exp.EQ | exp.NEQ) and _is_no_function(node):
        node.set("expression", exp.Literal.string("-"))
    if isinstance(node, exp.EQ):
        return _any_of(node)
    if isinstance(node, exp.Format):
        return _formatted(node)
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
    if kind.endswith("[]") and _is_array(inner):
        return exp.cast(_array(inner.name), node.to)
    if kind.startswith("REGPROC") and isinstance(inner, exp.Literal):
        return exp.Literal.string(inner.name.rpartition(".")[2])
    if kind in _LIKE_TEXT:
        return exp.cast(inner, "VARCHAR")
    return node


def _last_name(text: str) -> str:
    """The last part of a name that may be qualified and quoted: `"public" . "Mixed"`."""
    parts: list[tuple[str, str]] = _NAME.findall(text)
    quoted, plain = parts[-1] if parts else ("", text)
    return quoted.replace('""', '"') if quoted else plain.strip().lower()


def _number(kind: str, name: str, context: Context) -> exp.Expr:
    if name.isdigit():
        return exp.Literal.number(name)
    found = context.oid(kind, _last_name(name))
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
        found = context.oid(name.removeprefix("to_").upper(), _last_name(text))
        return exp.null() if found is None else exp.Literal.number(found)
    if name in _REFUSED or name.startswith(("read_", "duckdb_", "pg_sleep", "pragma_")):
        raise refused(f"unknown function {name}")
    if name in ("json_build_object", "jsonb_build_object"):
        return exp.Anonymous(this="json_object", expressions=given)
    if name == "pg_get_expr" and len(given) == 3:
        return exp.func("pg_get_expr", *given[:2])
    if name == "pg_backend_pid":
        return exp.cast(exp.Literal.number(context.process), "INTEGER")
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


def _is_array(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string and node.name.startswith("{")


def _array(text: str) -> exp.Expr:
    """PostgreSQL's literal of an array of texts."""
    try:
        cells = decoder(TEXTS, 0)(text.encode())
    except ValueError as error:
        raise PgError(WRONG_VALUE, f'malformed array literal: "{text}": {error}') from None
    return exp.array(*(exp.null() if c is None else exp.Literal.string(c) for c in cells))


def _elements(node: exp.Any | exp.All) -> exp.Expr:
    """`ANY ('{a,b}')`."""
    literal = node.this.unnest()
    if not _is_array(literal):
        return node
    return type(node)(this=exp.paren(_array(literal.name)))


def _substring(node: exp.Substring) -> exp.Expr:
    """SUBSTRING(text FROM 'pattern'): the first group of a match, else all of it."""
    pattern = node.args.get("start")
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        return node
    group = exp.Literal.number(int("(" in pattern.name.replace(r"\(", "")))
    found = exp.Anonymous(this="regexp_extract", expressions=[node.this, pattern.copy(), group])
    return exp.Anonymous(this="nullif", expressions=[found, exp.Literal.string("")])


def _division(node: exp.Div) -> exp.Expr:
    """Integer division truncates."""
    if _is_whole(node.this) and _is_whole(node.expression):
        return exp.IntDiv(this=node.this.copy(), expression=node.expression.copy())
    return node


def _is_whole(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast):
        return node.to.sql("postgres").upper() in _WHOLE
    if isinstance(node, exp.Paren):
        return _is_whole(node.this)
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()


def _is_no_function(node: exp.EQ | exp.NEQ) -> bool:
    """Whether a type's function is compared with 0, which means no function."""
    name, number = node.this, node.expression
    is_function = isinstance(name, exp.Column) and name.name in _FUNCTIONS
    return is_function and isinstance(number, exp.Literal) and number.name == "0"


def _any_of(node: exp.EQ) -> exp.Expr:
    """`x = ANY (ARRAY(query))`, which DuckDB takes for a query of arrays."""
    given = node.expression
    array = given.this.unnest() if isinstance(given, exp.Any) else None
    if not isinstance(array, exp.Array) or len(array.expressions) != 1:
        return node
    (query,) = array.expressions
    if not isinstance(query, exp.Query):
        return node
    return exp.In(this=node.this.copy(), query=query.copy().subquery())


def _formatted(node: exp.Format) -> exp.Expr:
    """FORMAT('%s %I', ..) as a concatenation."""
    template, *values = [node.this, *node.expressions]
    if not (isinstance(template, exp.Literal) and template.is_string):
        raise refused("format takes a template that is a literal")
    pieces: list[exp.Expr] = []
    end = 0
    for place in _PLACE.finditer(template.name):
        pieces.append(exp.Literal.string(template.name[end : place.start()]))
        end = place.end()
        if place[1] == "%":
            pieces.append(exp.Literal.string("%"))
        elif not values:
            raise refused("format has too few arguments")
        else:
            pieces.append(_format_cell(place[1], values.pop(0).copy()))
    pieces.append(exp.Literal.string(template.name[end:]))
    return exp.Anonymous(this="concat", expressions=pieces)


def _format_cell(letter: str, value: exp.Expr) -> exp.Expr:
    text = exp.cast(value, "VARCHAR")
    if letter == "s":
        return text
    return exp.Anonymous(
        this="quote_ident" if letter == "I" else "quote_literal", expressions=[text]
    )
