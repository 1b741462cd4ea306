"""Queries of sqllogictest files: what share of them plans, and means what DuckDB says it means.

python -m tests.relational.slt views FOLDER     CREATE MATERIALIZED VIEW
python -m tests.relational.slt queries FOLDER   SELECT, run by DuckDB in both forms
"""

from __future__ import annotations

import logging
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp

from streamsql.catalog import Catalog, Source
from streamsql.errors import StreamSQLError
from streamsql.nodes import Query, SelectQuery
from streamsql.parser import parse_one
from streamsql.planner.relational.planning import standard_plan
from streamsql.planner.relational.typing import standard
from streamsql.schema import Column, FormatSpec, Kind, Namespace, Schema, Topic
from tests.relational.duckdb_text import plan_text


def query(text: str) -> Query:
    statement = parse_one(text)
    assert isinstance(statement, SelectQuery)
    return statement.query


@dataclass(frozen=True)
class Record:
    """A statement or query of a file."""

    path: Path
    line: int
    kind: str
    """`ok`, `error` or `query`."""
    text: str


def records(path: Path, seen: frozenset[Path] = frozenset()) -> Iterator[Record]:
    lines = path.read_text().splitlines()
    at = 0
    skipped = False
    while at < len(lines):
        words = lines[at].split()
        head, rest = (words[0], words[1:]) if words else ("", [])
        start = at
        at += 1
        if head == "include" and rest:
            for found in sorted(path.parent.glob(rest[0])):
                if found not in seen and found.is_file():
                    yield from records(found, seen | {path})
        if head in ("skipif", "onlyif"):
            named = " ".join(rest)
            ours = "postgres" in named or "risingwave" in named
            skipped = ours if head == "skipif" else not ours
            continue
        if head not in ("statement", "query"):
            continue
        body = []
        while at < len(lines) and lines[at].strip() and lines[at].strip() != "----":
            body.append(lines[at])
            at += 1
        while at < len(lines) and lines[at].strip():
            at += 1
        if not skipped:
            kind = "query" if head == "query" else (rest[0] if rest else "ok")
            yield Record(path, start + 1, kind, "\n".join(body))
        skipped = False


def source(name: str, columns: list[tuple[str, exp.DataType]], key: set[str]) -> Source:
    fields = tuple(
        Column(column, kind, Namespace.KEY if column in key else Namespace.VALUE)
        for column, kind in columns
    )
    spec = FormatSpec("JSON")
    return Source(name, Kind.TABLE, Schema(fields), Topic(name, spec, spec))


def _fold(identifier: exp.Expr) -> str:
    return identifier.name if identifier.args.get("quoted") else identifier.name.upper()


_TABLE = re.compile(
    r"^\s*create\s+(?:table|source)\s+(?:if\s+not\s+exists\s+)?(\S+?)\s*\((.*)", re.I | re.S
)


def table(text: str) -> exp.Create | None:
    """CREATE TABLE or SOURCE without what has no meaning here: APPEND ONLY, WATERMARK, WITH."""
    found = _TABLE.match(text)
    if found is None:
        return None
    depth, parts, part = 1, [], ""
    for character in found[2]:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0 or (depth == 1 and character == ","):
            parts.append(part.strip())
            part = ""
            if depth == 0:
                break
        else:
            part += character
    kept = [p.split(" as ")[0] for p in parts if p and not p.lower().startswith("watermark")]
    return sqlglot.parse_one(f"CREATE TABLE {found[1]} ({', '.join(kept)})", dialect="postgres")


class Database:
    """Tables and views of a file, in a catalog and, unless only planned, in DuckDB."""

    def __init__(self, *, runs: bool) -> None:
        self.catalog = Catalog()
        self.duckdb = duckdb.connect() if runs else None
        if self.duckdb is not None:
            self.duckdb.execute("SET integer_division = true")

    def define(self, tree: exp.Create) -> None:
        schema = tree.this
        name = _fold(schema.this.this if isinstance(schema, exp.Schema) else schema.this)
        if not isinstance(schema, exp.Schema):
            return
        columns, key = [], set()
        for part in schema.expressions:
            if isinstance(part, exp.ColumnDef) and part.args.get("kind") is not None:
                columns.append((_fold(part.this), standard(part.args["kind"])))
                if any(
                    isinstance(c.args.get("kind"), exp.PrimaryKeyColumnConstraint)
                    for c in part.args.get("constraints") or ()
                ):
                    key.add(_fold(part.this))
            if isinstance(part, exp.PrimaryKey):
                key |= {
                    _fold(e if isinstance(e, exp.Identifier) else e.find(exp.Identifier))
                    for e in part.expressions
                }
        self.catalog.put(source(name, columns, key))
        if self.duckdb is not None:
            body = ", ".join(f'"{n}" {kind.sql("duckdb")}' for n, kind in columns)
            self.duckdb.execute(f'CREATE TABLE "{name}" ({body})')

    def view(self, name: str, text: str) -> str | None:
        """Plans a view and makes it known; what is wrong with it otherwise."""
        try:
            plan = standard_plan(query(text), self.catalog)
        except StreamSQLError as error:
            return f"{type(error).__name__}: {error.message}"
        except Exception as error:
            return f"CRASH {type(error).__name__}: {error}"
        columns: list[tuple[str, exp.DataType]] = []
        for field in plan.output:
            shown = field.name
            while any(shown == known for known, _ in columns):
                shown += "_"
            columns.append((shown, field.type))
        self.catalog.put(source(name, columns, set()))
        return None


_VIEW = re.compile(
    r"^\s*create\s+materialized\s+view\s+(?:if\s+not\s+exists\s+)?(\S+)\s*(\([^)]*\))?\s*(?:with\s*\([^)]*\)\s*)?as\s+(.*)$",
    re.I | re.S,
)


def _parts_last(path: Path) -> tuple[bool, Path]:
    """Parts that no file includes are files of their own."""
    return path.suffix == ".part", path


def views(folder: Path) -> None:
    reasons: Counter[str] = Counter()
    examples: dict[str, str] = {}
    total = planned = 0
    seen: set[tuple[Path, int]] = set()
    for path in sorted([*folder.rglob("*.slt"), *folder.rglob("*.slt.part")], key=_parts_last):
        database = Database(runs=False)
        for record in records(path):
            place = record.path.resolve(), record.line
            if place in seen:
                continue
            seen.add(place)
            text = record.text.strip().rstrip(";")
            found = _VIEW.match(text)
            if found is None:
                try:
                    tree = table(text)
                    if tree is not None:
                        database.define(tree)
                except Exception as error:
                    print("define", record.path, record.line, repr(error)[:100])
                continue
            if record.kind == "error":
                continue
            total += 1
            name = found[1] if found[1].startswith('"') else found[1].upper()
            reason = database.view(name.strip('"').split(".")[-1], found[3])
            if reason is None:
                planned += 1
            else:
                short = re.sub(r"[A-Z_0-9]*[0-9][A-Z_0-9]*", "N", reason)[:110]
                reasons[short] += 1
                examples.setdefault(short, f"{path.name}:{record.line} {text[:300]}")
    print(f"{planned} of {total} views planned")
    for reason, number in reasons.most_common(40):
        print(f"{number:5} {reason}\n      {examples[reason]}")


def rows(found: list[tuple[object, ...]]) -> list[str]:
    def value(item: object) -> object:
        if isinstance(item, bool | type(None) | str):
            return item
        if isinstance(item, int | float | Decimal):
            return round(float(item), 3) + 0.0
        return str(item)

    return sorted(repr([value(item) for item in row]) for row in found)


def queries(folder: Path, limit: int) -> None:
    reasons: Counter[str] = Counter()
    examples: dict[str, str] = {}
    total = planned = right = 0
    for path in sorted([*folder.rglob("*.test"), *folder.rglob("*.slt")]):
        database = Database(runs=True)
        assert database.duckdb is not None
        here = 0
        for record in records(path):
            text = record.text.strip().rstrip(";")
            if record.kind != "query":
                try:
                    tree = sqlglot.parse_one(text, dialect="postgres")
                    if isinstance(tree, exp.Create) and tree.args.get("kind") == "TABLE":
                        database.define(tree)
                    elif isinstance(tree, exp.Create):
                        name = _fold(tree.this.this)
                        database.view(name, tree.expression.sql("postgres"))
                        database.duckdb.execute(tree.sql("duckdb"))
                    else:
                        database.duckdb.execute(tree.sql("duckdb"))
                except Exception:
                    pass
                continue
            here += 1
            if here > limit:
                break
            try:
                original = sqlglot.transpile(text, read="postgres", write="duckdb")[0]
                expected = rows(database.duckdb.execute(original).fetchall())
            except Exception:
                continue
            total += 1
            try:
                plan = standard_plan(query(text), database.catalog)
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                short = re.sub(r"[A-Z_0-9]*[0-9][A-Z_0-9]*", "N", reason)[:110]
                reasons[short] += 1
                examples.setdefault(short, f"{path.name}:{record.line} {text[:300]}")
                continue
            planned += 1
            try:
                actual = rows(database.duckdb.execute(plan_text(plan)).fetchall())
            except Exception as error:
                actual = [f"ERROR {str(error)[:100]}"]
            if actual == expected:
                right += 1
            else:
                short = f"DIFFERENT {actual[0][:90] if actual and 'ERROR' in actual[0] else ''}"
                reasons[short] += 1
                examples.setdefault(
                    short, f"{path.name}:{record.line} {text[:400]}\n{expected[:5]}\n{actual[:5]}"
                )
    print(f"{total} queries that DuckDB runs: {planned} planned, {right} right")
    for reason, number in reasons.most_common(40):
        print(f"{number:5} {reason}\n      {examples[reason]}")


if __name__ == "__main__":
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    what, folder, *more = sys.argv[1:]
    if what == "views":
        views(Path(folder))
    else:
        queries(Path(folder), int(more[0]) if more else 10**9)
