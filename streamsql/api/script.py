"""Parsed statements: a text is parsed once and then executed. They are opaque outside of the
engine, except for the properties below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from streamsql import nodes
from streamsql.errors import ParseError
from streamsql.parser import parse_each, parse_in_turn, split
from streamsql.schema import Kind
from streamsql.session import Session


@dataclass(frozen=True)
class PreparedStatement:
    """One parsed statement."""

    node: nodes.Statement = field(repr=False)
    """The syntax tree, for the engine only."""

    @property
    def kind(self) -> str:
        """Kind of the statement: the name of its class in `nodes`, such as CreateSource."""
        return type(self.node).__name__

    @property
    def logged(self) -> bool:
        """Whether it changes the catalog, and is stored in the statement log."""
        return self.node.effect.logged

    @property
    def text(self) -> str:
        return self.node.text

    @property
    def is_query(self) -> bool:
        """Whether its result has rows: SELECT or PRINT."""
        return isinstance(self.node, nodes.SelectQuery | nodes.Print)

    @property
    def continuous(self) -> bool:
        """Whether its rows arrive continuously: a push query, or PRINT."""
        if isinstance(self.node, nodes.SelectQuery):
            return self.node.query.emit is not None
        return isinstance(self.node, nodes.Print)

    @property
    def row_count(self) -> int:
        """Number of rows of INSERT .. VALUES."""
        return len(self.node.rows) if isinstance(self.node, nodes.InsertValues) else 0

    @property
    def waits_for(self) -> frozenset[str]:
        """Names of the startup steps (`Engine.startup`) it depends on."""
        if isinstance(self.node, _WITHOUT_KAFKA):
            return frozenset()
        return _ALL_STEPS if isinstance(self.node, _WITH_SPARK) else frozenset({"kafka"})

    @property
    def name(self) -> str | None:
        """The object it concerns or writes: a source, view, type, function, query, connector,
        topic, subject, property or variable. None for all of them, and if there is none."""
        given = (getattr(self.node, attribute, None) for attribute in _NAMES)
        return next((name for name in given if name is not None), None)

    @property
    def source_kind(self) -> Kind | None:
        """STREAM or TABLE, if the statement says so."""
        kind = getattr(self.node, "kind", None)
        return kind if isinstance(kind, Kind) else None

    @property
    def action(self) -> str:
        assert isinstance(self.node, nodes.ControlQuery)
        return self.node.action.value

    @property
    def lists(self) -> str:
        """The subject of SHOW: STREAMS, ALL TOPICS and similar."""
        assert isinstance(self.node, nodes.Show)
        return self.node.what.value

    @property
    def column(self) -> str | None:
        """The column of SHOW LINEAGE; None for all."""
        return getattr(self.node, "column", None)

    @property
    def direction(self) -> str:
        """Of SHOW LINEAGE: OF or FROM."""
        assert isinstance(self.node, nodes.ShowLineage)
        return self.node.direction.value

    @property
    def extended(self) -> bool:
        return bool(getattr(self.node, "extended", False))

    @property
    def connector_type(self) -> str:
        assert isinstance(self.node, nodes.CreateConnector)
        return self.node.type.value

    @property
    def exists(self) -> bool:
        return bool(getattr(self.node, "exists", True))

    @property
    def schema_id(self) -> int | None:
        return self.node.id if isinstance(self.node, nodes.AssertSchema) else None

    @property
    def explained(self) -> PreparedStatement | None:
        """The statement of EXPLAIN; None for a running query."""
        inner = self.node.statement if isinstance(self.node, nodes.Explain) else None
        return None if inner is None else PreparedStatement(inner)


_WITHOUT_KAFKA = (
    nodes.Show,
    nodes.ShowLineage,
    nodes.Describe,
    nodes.DescribeAll,
    nodes.DescribeFunction,
    nodes.DescribeSink,
    nodes.DescribeDatabase,
    nodes.Explain,
    nodes.SetProperty,
    nodes.UnsetProperty,
    nodes.DefineVariable,
    nodes.UndefineVariable,
)
_WITH_SPARK = (
    nodes.SelectQuery,
    nodes.CreateAsSelect,
    nodes.CreateMaterializedView,
    nodes.InsertInto,
    nodes.CreateSink,
    nodes.RunScript,
)
_ALL_STEPS = frozenset({"kafka", "spark", "queries"})
_NAMES = ("name", "target", "query_id", "topic", "subject", "source")
"""Attributes of nodes that contain it."""


@dataclass(frozen=True)
class Script:
    """The statements of a text up to the first error."""

    text: str
    statements: tuple[PreparedStatement, ...]
    error: ParseError | None = None
    """The error of the next statement."""

    @property
    def wrong(self) -> str:
        """The invalid statement with its semicolon; the whole text if unknown."""
        span = self.error.span if self.error is not None else None
        if span is not None:
            for text, place in split(self.text):
                if place.start <= span.start <= place.end:
                    return text + ";"
        return self.text.strip()


def parse_script(sql: str, session: Session) -> Script:
    """Parses a text with the variables of a session, without changing it: later statements see the
    DEFINEs of earlier ones."""
    statements: list[PreparedStatement] = []
    for found in parse_in_turn(sql, session.substituted):
        if isinstance(found, ParseError):
            found.located(sql)
            return Script(sql, tuple(statements), found)
        statements.append(PreparedStatement(found))
    return Script(sql, tuple(statements))


def statements_of(sql: str | Script, session: Session) -> Iterator[nodes.Statement | ParseError]:
    """A text's statements, each parsed with the session's variables at its turn."""
    if not isinstance(sql, Script):
        yield from parse_each(sql, session.substituted)
        return
    yield from (each.node for each in sql.statements)
    if sql.error is not None:
        yield sql.error
