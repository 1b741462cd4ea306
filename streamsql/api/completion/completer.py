"""Completion as a pure function of the text, the cursor and the catalog. Keywords come from the
grammar, names from the context of the cursor (sources after FROM, columns in expressions, property
names in WITH ..)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from streamsql import types
from streamsql.api.completion.cursor import Cursor, locate
from streamsql.api.completion.words import (
    TABLE_FUNCTION_HINT,
    WITH_PROPERTIES,
    with_values,
)
from streamsql.catalog import Catalog, Source
from streamsql.functions import REGISTRY
from streamsql.parser import RESERVED, expected_keywords
from streamsql.properties import PROPERTIES
from streamsql.schema import PSEUDO_COLUMNS, WINDOW_BOUNDS, Column, Kind
from streamsql.types import to_sql

MAX_SUGGESTIONS = 200


@dataclass(frozen=True)
class Suggestion:
    """A text that can replace the word at the cursor."""

    text: str
    kind: str
    description: str = ""


@dataclass(frozen=True)
class Names:
    """Names outside of the catalog: variables with their values, topics, and shell commands with
    their descriptions."""

    variables: Mapping[str, str] = field(default_factory=dict)
    topics: Sequence[str] = ()
    commands: Mapping[str, str] = field(default_factory=dict)


def suggest(
    text: str, cursor: int, catalog: Catalog, names: Names | None = None
) -> list[Suggestion]:
    """Suggestions at the cursor, the likeliest first, for the range given by `locate`."""
    at = locate(text, cursor)
    if at.in_comment:
        return []
    found = _Completer(at, catalog, names or Names())
    seen: set[str] = set()
    result = []
    for suggestion in found.candidates():
        if suggestion.text not in seen and _matches(suggestion.text, at.word):
            seen.add(suggestion.text)
            result.append(_in_case_of(at.word, suggestion))
    return result[:MAX_SUGGESTIONS]


def _matches(text: str, word: str) -> bool:
    if word.startswith("`") and not text.startswith("`"):
        return False
    return text.casefold().lstrip("`").startswith(word.casefold().lstrip("`"))


def _in_case_of(word: str, suggestion: Suggestion) -> Suggestion:
    """Lower-case input gets lower-case suggestions where case does not matter."""
    folded = suggestion.kind in ("keyword", "function", "aggregate", "table function", "type")
    folded = folded or suggestion.text == suggestion.text.upper()
    if not word or word != word.lower() or not folded or suggestion.kind in ("value", "format"):
        return suggestion
    return Suggestion(suggestion.text.lower(), suggestion.kind, suggestion.description)


class _Completer:
    def __init__(self, at: Cursor, catalog: Catalog, names: Names) -> None:
        self._at = at
        self._catalog = catalog
        self._names = names

    def candidates(self) -> Iterator[Suggestion]:
        at = self._at
        if at.in_variable:
            yield from (Suggestion(n, "variable", v) for n, v in self._names.variables.items())
        elif at.in_string:
            yield from self._in_string()
        elif at.with_clause and at.previous in ("(", ","):
            yield from self._with_properties()
        elif at.previous == "." and len(at.words) >= 2:
            yield from self._columns_of(at.words[-2])
        elif at.previous == "->":
            yield from self._struct_fields()
        elif at.words[:1] == ["INSERT"] and at.words[3:4] == ["("] and ")" not in at.words:
            yield from self._columns_of(at.words[2])
        elif at.words[:1] == ["UPDATE"] and at.previous == "SET" and len(at.words) > 2:
            yield from self._columns_of(at.words[1])
        else:
            yield from self._by_grammar()

    # -- names -------------------------------------------------------------------------------------

    def _by_grammar(self) -> Iterator[Suggestion]:
        at = self._at
        keywords = expected_keywords(at.before)
        yield from self._sources_and_queries()
        if "BIGINT" in keywords:
            yield from self._types(keywords)
            return
        if "CASE" in keywords:
            yield from self._expression()
        if not at.words:
            commands = self._names.commands if at.word else {}
            yield from (Suggestion(n, "command", doc) for n, doc in commands.items())
        yield from (
            Suggestion(_with_followers(at.before, keyword), "keyword")
            for keyword in sorted(keywords - _NOT_RUN, key=lambda k: (k in _RARE, k))
            if not (at.previous == "SHOW" and keyword == "SOURCE")
        )

    def _sources_and_queries(self) -> Iterator[Suggestion]:
        words = self._at.words
        first, last = (words[0] if words else ""), self._at.previous
        if first == "PRINT" and len(words) == 1:
            topics = {s.topic.name for s in self._catalog.sources.values()}
            yield from (_named(n, "topic", "") for n in sorted(topics | set(self._names.topics)))
        elif first in ("TERMINATE", "PAUSE", "RESUME") and len(words) == 1:
            yield from self._queries()
        elif first == "DESCRIBE" and words[1:] == ["FUNCTION"]:
            yield from _functions()
        elif first == "EXPLAIN" and words[1:] in ([], ["VERBOSE"]):
            yield from self._queries()
        elif (first == "DESCRIBE" and len(words) == 1) or (
            last == "FROM" and "SINK" in words[1:4] and first == "CREATE"
        ):
            yield from self._sources(None)
        elif words[1:] == ["LINEAGE", "OF"] or (
            last in ("FROM", "JOIN") and first not in ("DELETE", "PRINT")
        ):
            yield from self._sources(None)
            yield from self._views()
        elif last in ("SINK", "EXISTS") and words[:2] in (["DROP", "SINK"], ["DESCRIBE", "SINK"]):
            yield from self._sinks()
        elif last in ("SOURCE", "EXISTS") and (
            words[:2] in (["DROP", "SOURCE"], ["DESCRIBE", "SOURCE"]) or words[-2:-1] == ["FROM"]
        ):
            yield from (
                _named(name, "source", database.login.url)
                for name, database in sorted(self._catalog.databases.items())
            )
        elif last in ("VIEW", "EXISTS") and words[:2] == ["DROP", "VIEW"]:
            yield from self._views()
        elif words in (["UPDATE"], ["TRUNCATE"], ["TRUNCATE", "TABLE"], ["DELETE", "FROM"]):
            yield from self._sources(Kind.TABLE, plain=True)
        elif last in ("VIEW", "EXISTS") and words[:3] == ["DROP", "MATERIALIZED", "VIEW"]:
            yield from self._sources(Kind.TABLE, materialized=True)
        elif first == "DROP" and last == "FUNCTION":
            yield from (_named(n, "function", "") for n in sorted(self._catalog.functions))
        elif last == "INTO" and first == "INSERT":
            yield from self._sources(None, writable=True)
        elif last in ("STREAM", "TABLE", "EXISTS") and first in ("DROP", "ALTER"):
            kind = Kind.STREAM if "STREAM" in words else Kind.TABLE
            yield from self._sources(kind)
        elif first == "DROP" and last == "TYPE":
            yield from (_named(n, "type", to_sql(t)) for n, t in self._catalog.types.items())

    def _sources(
        self,
        kind: Kind | None,
        *,
        writable: bool = False,
        plain: bool = False,
        materialized: bool = False,
    ) -> Iterator[Suggestion]:
        for name, source in sorted(self._catalog.sources.items()):
            if kind is not None and source.kind is not kind:
                continue
            if writable and source.is_source:
                continue
            if (plain and not source.is_plain) or (
                materialized and not source.is_materialized_view
            ):
                continue
            columns = ", ".join(column.name for column in source.shown)
            yield _named(name, source.kind.value.lower(), columns)

    def _views(self) -> Iterator[Suggestion]:
        for name, view in sorted(self._catalog.views.items()):
            yield _named(name, "view", f"over {', '.join(sorted(view.reads))}")

    def _sinks(self) -> Iterator[Suggestion]:
        for name, sink in sorted(self._catalog.sinks.items()):
            what = f"{sink.format} files" if sink.connection == "FILE" else f"table {sink.table}"
            yield _named(name, "sink", f"{what} of {sink.reads}")

    def _queries(self) -> Iterator[Suggestion]:
        for query in self._catalog.queries.values():
            yield Suggestion(query.id, "query", f"into {query.writes}")

    def _types(self, keywords: set[str]) -> Iterator[Suggestion]:
        yield from (_named(n, "type", to_sql(t)) for n, t in self._catalog.types.items())
        names = [n for n in types.PRIMITIVES if n in keywords]
        yield from (Suggestion(n, "type") for n in names if n not in ("VARCHAR", "INTEGER"))
        yield from (Suggestion(n, "type") for n in ("DECIMAL", "ARRAY", "MAP", "STRUCT"))

    # -- expressions -------------------------------------------------------------------------------

    def _expression(self) -> Iterator[Suggestion]:
        sources = self._statement_sources()
        for alias, source in sources:
            yield from _columns(source, alias if len(sources) > 1 else "")
        if len(sources) > 1 and self._at.references:
            yield from (_named(a, s.kind.value.lower(), s.name) for a, s in sources)
        if sources:
            yield from (_column(c, "system column") for c in PSEUDO_COLUMNS)
        if "WINDOW" in self._at.statement_words or any(s.is_windowed for _, s in sources):
            yield from (_column(c, "system column") for c in WINDOW_BOUNDS)
        if self._at.word:
            yield from _functions()

    def _statement_sources(self) -> list[tuple[str, Source]]:
        found = []
        for name, alias in self._at.references:
            source = self._catalog.sources.get(name)
            if source is not None:
                found.append((alias or name, source))
        if not self._at.references:
            # Without a FROM, any source is possible.
            return list(self._catalog.sources.items())
        return found

    def _columns_of(self, qualifier: str) -> Iterator[Suggestion]:
        for alias, source in self._statement_sources():
            if qualifier in (alias, source.name):
                yield from _columns(source, "")
                yield from (_column(c, "system column") for c in PSEUDO_COLUMNS)

    def _struct_fields(self) -> Iterator[Suggestion]:
        path = self._at.struct_path
        for _, source in self._statement_sources():
            column = source.schema.find(path[0]) if path else None
            kind = column.type if column else None
            for name in path[1:]:
                inner = dict(types.fields(kind)) if kind and types.is_struct(kind) else {}
                kind = inner.get(name)
            if kind is not None and types.is_struct(kind):
                yield from (_named(n, "field", to_sql(t)) for n, t in types.fields(kind))

    # -- WITH and strings --------------------------------------------------------------------------

    def _with_properties(self) -> Iterator[Suggestion]:
        given = set(self._at.with_names)
        for name, doc in WITH_PROPERTIES.items():
            if name not in given:
                yield Suggestion(name, "property", doc)

    def _in_string(self) -> Iterator[Suggestion]:
        at = self._at
        if at.words[:1] in (["SET"], ["UNSET"]) or at.words[:2] == ["ALTER", "SYSTEM"]:
            yield from self._set(at)
        elif at.words[:1] == ["PRINT"]:
            topics = {s.topic.name for s in self._catalog.sources.values()}
            yield from (Suggestion(n, "topic") for n in sorted(topics | set(self._names.topics)))
        elif at.with_clause and at.previous == "=":
            yield from self._with_value(at.words[-2] if len(at.words) > 1 else "")

    def _set(self, at: Cursor) -> Iterator[Suggestion]:
        if at.previous != "=":
            yield from (Suggestion(p.name, "property", p.doc) for p in PROPERTIES.values())
            return
        definition = PROPERTIES.get(at.words[-2].strip("'")) if len(at.words) > 1 else None
        if definition is not None:
            choices = definition.choices or (
                ("true", "false") if definition.type.value == "boolean" else ()
            )
            yield from (Suggestion(choice, "value") for choice in choices)

    def _with_value(self, name: str) -> Iterator[Suggestion]:
        if name == "KAFKA_TOPIC":
            topics = {s.topic.name for s in self._catalog.sources.values()}
            yield from (Suggestion(n, "topic") for n in sorted(topics | set(self._names.topics)))
        elif name == "TIMESTAMP":
            yield from (Suggestion(n, "column") for n in self._at.defined_columns)
            for _, source in self._statement_sources() if self._at.references else ():
                yield from _columns(source, "")
        else:
            yield from (Suggestion(v, "format", doc) for v, doc in with_values(name).items())


_RARE = frozenset(
    {
        "AT",
        "DECIMAL",
        "DISTINCT",
        "EXISTS",
        "LIST",
        "ALTER",
        "ASSERT",
        "UNDEFINE",
        "UNSET",
        "AGGREGATE",
    }
)
_NOT_RUN = frozenset({"ANALYZE"})
"""Keywords of statements that parse but are not supported."""
_FOLLOWERS = 2
"""Fixed continuations of keywords: GROUP BY."""


def _with_followers(before: str, keyword: str) -> str:
    words = keyword
    for _ in range(_FOLLOWERS):
        following = _ONLY_FOLLOWER.get(words.rpartition(" ")[2])
        if following is None or following not in expected_keywords(f"{before} {words} "):
            return words
        words = f"{words} {following}"
    return words


_ONLY_FOLLOWER = {
    "GROUP": "BY",
    "PARTITION": "BY",
    "ADVANCE": "BY",
    "INSERT": "INTO",
    "PRIMARY": "KEY",
    "GRACE": "PERIOD",
    "RUN": "SCRIPT",
    "EMIT": "CHANGES",
    "UNION": "ALL",
    "ORDER": "BY",
}


def _columns(source: Source, alias: str) -> Iterator[Suggestion]:
    for column in source.schema:
        yield _column(column, "column", alias)


def _column(column: Column, kind: str, alias: str = "") -> Suggestion:
    description = to_sql(column.type) + (f" of {alias}" if alias else "")
    return _named(column.name, kind, description)


def _functions() -> Iterator[Suggestion]:
    kinds = {"AGGREGATE": "aggregate", "TABLE": "table function"}
    for function in REGISTRY:
        description = function.doc
        if function.type == "TABLE":
            description = f"{function.doc} {TABLE_FUNCTION_HINT}"
        yield Suggestion(function.name, kinds.get(function.type, "function"), description)


_PLAIN = re.compile(r"[A-Z_][A-Z0-9_@]*\Z")


def _named(name: str, kind: str, description: str) -> Suggestion:
    """A name, quoted if it would be folded or is a keyword."""
    plain = _PLAIN.match(name) and name not in RESERVED
    topic = kind == "topic" and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
    if plain or topic:
        return Suggestion(name, kind, description)
    return Suggestion(f"'{name}'" if kind == "topic" else types.quote(name), kind, description)


def texts(suggestions: Iterable[Suggestion]) -> list[str]:
    return [suggestion.text for suggestion in suggestions]
