"""Statements that have been parsed: a text is parsed once, and what the engine then runs is this.

To all but the engine they are opaque: what one is about can be asked, its syntax tree can not.
"""

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
    """One statement, ready to be executed."""

    node: nodes.Statement = field(repr=False)
    """For the engine alone."""

    @property
    def kind(self) -> str:
        """What statement it is: the name of its class in `nodes`, such as CreateSource."""
        return type(self.node).__name__

    @property
    def logged(self) -> bool:
        """Whether it changes what exists for good, and so goes to the statement log."""
        return self.node.effect.logged

    @property
    def text(self) -> str:
        """As it was written, without its semicolon."""
        return self.node.text

    @property
    def is_query(self) -> bool:
        """Whether it is answered with rows, by SELECT or PRINT."""
        return isinstance(self.node, nodes.SelectQuery | nodes.Print)

    @property
    def goes_on(self) -> bool:
        """Whether its rows come for as long as one looks: a push query, or PRINT."""
        if isinstance(self.node, nodes.SelectQuery):
            return self.node.query.emit is not None
        return isinstance(self.node, nodes.Print)

    @property
    def row_count(self) -> int:
        """Of INSERT .. VALUES: how many rows."""
        return len(self.node.rows) if isinstance(self.node, nodes.InsertValues) else 0

    @property
    def waits_for(self) -> frozenset[str]:
        """Names of the start-up's steps (`Engine.startup`) that it cannot do without."""
        if isinstance(self.node, _WITHOUT_KAFKA):
            return frozenset()
        return _ALL_STEPS if isinstance(self.node, _WITH_SPARK) else frozenset({"kafka"})

    @property
    def name(self) -> str | None:
        """What it is about, or writes into: a source, view, type, function, query, connector,
        topic, subject, property or variable. None for all of them, and where there is nothing."""
        given = (getattr(self.node, attribute, None) for attribute in _NAMES)
        return next((name for name in given if name is not None), None)

    @property
    def source_kind(self) -> Kind | None:
        """Whether it speaks of a stream or of a table, where it says so."""
        kind = getattr(self.node, "kind", None)
        return kind if isinstance(kind, Kind) else None

    @property
    def action(self) -> str:
        """TERMINATE, PAUSE or RESUME."""
        assert isinstance(self.node, nodes.ControlQuery)
        return self.node.action.value

    @property
    def lists(self) -> str:
        """What SHOW lists: STREAMS, ALL TOPICS and the like."""
        assert isinstance(self.node, nodes.Show)
        return self.node.what.value

    @property
    def column(self) -> str | None:
        """Of SHOW LINEAGE: the one column that it is about; None for all."""
        return getattr(self.node, "column", None)

    @property
    def direction(self) -> str:
        """Of SHOW LINEAGE: OF or FROM."""
        assert isinstance(self.node, nodes.ShowLineage)
        return self.node.direction.value

    @property
    def extended(self) -> bool:
        """Whether SHOW or DESCRIBE is to tell more."""
        return bool(getattr(self.node, "extended", False))

    @property
    def connector_type(self) -> str:
        """SOURCE or SINK, of CREATE CONNECTOR."""
        assert isinstance(self.node, nodes.CreateConnector)
        return self.node.type.value

    @property
    def exists(self) -> bool:
        """What ASSERT [NOT] EXISTS asserts."""
        return bool(getattr(self.node, "exists", True))

    @property
    def schema_id(self) -> int | None:
        """Of ASSERT SCHEMA, where it is given."""
        return self.node.id if isinstance(self.node, nodes.AssertSchema) else None

    @property
    def explained(self) -> PreparedStatement | None:
        """The statement in EXPLAIN; None where it explains a query that runs."""
        inner = self.node.statement if isinstance(self.node, nodes.Explain) else None
        return None if inner is None else PreparedStatement(inner)


_WITHOUT_KAFKA = (
    nodes.Show,
    nodes.ShowLineage,
    nodes.Describe,
    nodes.DescribeAll,
    nodes.DescribeFunction,
    nodes.DescribeSink,
    nodes.Explain,
    nodes.SetProperty,
    nodes.UnsetProperty,
    nodes.DefineVariable,
    nodes.UndefineVariable,
)
_WITH_SPARK = (
    nodes.SelectQuery,
    nodes.CreateAsSelect,
    nodes.InsertInto,
    nodes.CreateSink,
    nodes.RunScript,
)
_ALL_STEPS = frozenset({"kafka", "spark", "queries"})
_NAMES = ("name", "target", "query_id", "topic", "subject", "source")
"""The attributes of nodes that hold it."""


@dataclass(frozen=True)
class Script:
    """The statements of a text up to the first that is wrong."""

    text: str
    statements: tuple[PreparedStatement, ...]
    error: ParseError | None = None
    """What is wrong with the statement after these."""

    @property
    def wrong(self) -> str:
        """The statement that the error is in, ended by its semicolon; the whole text where it is
        not known."""
        span = self.error.span if self.error is not None else None
        if span is not None:
            for text, place in split(self.text):
                if place.start <= span.start <= place.end:
                    return text + ";"
        return self.text.strip()


def parse_script(sql: str, session: Session) -> Script:
    """Parse a text with the variables of a session, which is left as it is: what the text itself
    DEFINEs is known to the statements after it."""
    statements: list[PreparedStatement] = []
    for found in parse_in_turn(sql, session.substituted):
        if isinstance(found, ParseError):
            found.located(sql)
            return Script(sql, tuple(statements), found)
        statements.append(PreparedStatement(found))
    return Script(sql, tuple(statements))


def statements_of(sql: str | Script, session: Session) -> Iterator[nodes.Statement | ParseError]:
    """A text's statements as the session's variables stand when each has its turn."""
    if not isinstance(sql, Script):
        yield from parse_each(sql, session.substituted)
        return
    yield from (each.node for each in sql.statements)
    if sql.error is not None:
        yield sql.error
