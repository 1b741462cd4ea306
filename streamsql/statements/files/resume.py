"""What is left to run of a file that may have been run before, wholly or in part.

A file says what is to be there: a statement that has been run, by whomever, is passed over, and
what stands in the file otherwise than it is there is an error, before anything is run. So a file
can be run again after a crash, and after statements were added to it. Rows are written once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamsql import nodes
from streamsql.catalog import Catalog, Thing
from streamsql.errors import CatalogError, StreamSQLError
from streamsql.executor.queries.persistent_query import Definition
from streamsql.formats.registered import SchemaText
from streamsql.parser import to_sql
from streamsql.planner.plans.statements import Planned, QueryStatementPlan, SchemaLookup
from streamsql.planner.statements import apply, plan
from streamsql.properties import PROPERTIES, shown
from streamsql.run_script import NamedText
from streamsql.runtime.history import Event, History, canonical
from streamsql.session import Session
from streamsql.statements.files.lines import SESSION, Line, changes, read_lines, setting

if TYPE_CHECKING:
    from streamsql.log.entries import StatementLog
    from streamsql.runtime.state import EngineState

_REPLACE = "To change it write CREATE OR REPLACE, or DROP it first and it begins anew."
_HOW = {
    "type": "To change it DROP it first: what was made with it stays as it is.",
    "query": "To change it TERMINATE it first: it begins anew.",
}
"""How a thing is changed, by its kind."""


@dataclass(frozen=True)
class Left:
    """What is left of a file."""

    lines: Sequence[Line]
    """All of it."""
    passed: frozenset[int]
    """The places in it of what has been run."""
    inserts: Sequence[Definition] = ()
    """INSERT queries that are there, and of which the file says nothing."""

    @property
    def remark(self) -> str | None:
        """What is said of the statements that are passed over."""
        passed = [self.lines[number].statement for number in self.passed]
        if not passed:
            return None
        rows = sum(isinstance(statement, nodes.InsertValues) for statement in passed)
        count = "1 statement has" if len(passed) == 1 else f"{len(passed)} statements have"
        written = f", {rows} of them to INSERT rows, which are not written again" if rows else ""
        return f"{count} been run before{written}."

    def to_run(self, session: Session) -> Iterator[Line]:
        """The rest, each once the one before has been run in this session. Of what the file says of
        the session only that which changes it, when something is to be run in it."""
        pending: dict[tuple[str, str], Line] = {}
        for number, line in enumerate(self.lines):
            statement = line.statement
            if isinstance(statement, SESSION):
                name = setting(statement)
                pending.pop(name, None)
                pending[name] = line
            elif number not in self.passed:
                yield from _changing(pending, session)
                yield line
        yield from _changing(pending, session)


def _changing(pending: dict[tuple[str, str], Line], session: Session) -> Iterator[Line]:
    for line in pending.values():
        if changes(line.statement, session):
            yield line
    pending.clear()


def left_in(
    state: EngineState,
    log: StatementLog,
    texts: Sequence[NamedText],
    variables: Mapping[str, str],
    *,
    whole: bool = False,
) -> Left:
    """What is left of files for an engine; the StreamSQLError of a statement that cannot be run,
    or that says otherwise than what is there. `variables` go before those of its session."""
    given = {name.upper(): value for name, value in variables.items()}
    session = Session(dict(state.session.properties), {**state.session.variables, **given})
    lines = read_lines(texts, session, definitions_only=whole)
    left = left_of(lines, _history(state, log), whole=whole)
    check_runs(left, state.catalog, state.session, state.schemas())
    return left


def _history(state: EngineState, log: StatementLog) -> History:
    """What the log says now. Of a start that is known: folding a long log twice would take long."""
    known, state.history = state.history, None
    entries = list(log.entries)
    if known is not None and known.length == len(entries):
        return known
    return History.of(entries)


def left_of(lines: Sequence[Line], history: History, *, whole: bool = False) -> Left:
    """What is left of the lines of a file (of several files: one after the other).

    CatalogError, with its place, for a statement that says otherwise than what is there. `whole`:
    also where something is there of which the file says nothing.
    """
    mine: dict[Thing, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        for thing in history.concerns(line.statement):
            mine[thing].append(number)
    left: set[int] = set()
    for thing, numbers in mine.items():
        left.update(_left(thing, numbers, lines, history))
    if whole:
        _check_whole(mine, history)
    known = {number for numbers in mine.values() for number in numbers}
    others = [query for thing, query in history.queries.items() if thing not in mine]
    return Left(lines, frozenset(known - left), others)


def _left(
    thing: Thing, numbers: Sequence[int], lines: Sequence[Line], history: History
) -> Sequence[int]:
    """Of the lines that concern a thing, those that are to be run."""
    done = history.events.get(thing, [])
    count = _matched([lines[n] for n in numbers], [event.text for event in done])
    if count:
        _check_settings(numbers[:count], lines, done)
        return numbers[count:]
    living = history.living(thing)
    if not living:
        return numbers
    texts = [canonical(lines[n].statement) for n in numbers]
    same = 0
    while same < min(len(texts), len(living)) and texts[same] == living[same].text:
        same += 1
    return _over(thing, numbers, same, lines, living)


def _matched(mine: Sequence[Line], done: Sequence[str]) -> int:
    """How many of a thing's lines are what happened to it last; those that may have had nothing to
    do need not be among it."""
    for count in range(len(mine), 0, -1):
        place = len(done)
        for line in reversed(mine[:count]):
            if place and canonical(line.statement) == done[place - 1]:
                place -= 1
            elif not _optional(line):
                break
        else:
            if place < len(done):
                return count
    return 0


def _over(
    thing: Thing, numbers: Sequence[int], same: int, lines: Sequence[Line], living: Sequence[Event]
) -> Sequence[int]:
    """What is to be run where a thing is there in another form than the lines give it; `same` of
    them are as they were."""
    for place in range(same, len(numbers)):
        line = lines[numbers[place]]
        if line.statement.creates is None or _replaces(line):
            return numbers[place:]
        if not _optional(line):
            raise _differs(thing, line, living, same)
    replacing = [n for n in numbers if _replaces(lines[n])]
    if replacing:
        return numbers[numbers.index(replacing[-1]) :]
    first = lines[numbers[0]]
    if same == len(numbers) and not _optional(first):
        raise _differs(thing, lines[numbers[-1]], living, same)
    return ()


def _optional(line: Line) -> bool:
    names = ("if_not_exists", "if_exists")
    return any(getattr(line.statement, name, False) for name in names)


def _replaces(line: Line) -> bool:
    return bool(getattr(line.statement, "or_replace", False))


def _name(thing: Thing) -> str:
    kind, name = thing
    kinds = {"source": "", "insert": "the query ", "query": "the query "}
    return f"{kinds.get(kind, f'the {kind} ')}{name}"


def _differs(thing: Thing, line: Line, living: Sequence[Event], same: int) -> StreamSQLError:
    """The error for a line whose thing is there in another form."""
    now = to_sql(line.statement) + ";"
    if same and canonical(line.statement) == living[same - 1].text:
        message = f"{_name(thing)} has been changed since this statement was run"
        detail = f"By: {_statements(living[same:])}"
        hint = "Write that into the file too, or DROP it, and the file makes it anew."
    else:
        message = f"{_name(thing)} is there, made by another statement than this"
        detail = f"It was made by: {_statements(living)}\nThe file says:  {now}"
        hint = f"{_HOW.get(thing[0], _REPLACE)} Or have the file say again what is there."
    return line.located(CatalogError(message, detail=detail, hint=hint))


def _statements(events: Sequence[Event]) -> str:
    return "\n".join(event.entry.sql for event in events)


def _check_settings(numbers: Sequence[int], lines: Sequence[Line], done: Sequence[Event]) -> None:
    """CatalogError where a statement was run with other properties than the file now SETs."""
    entries = {event.text: event.entry for event in done}
    for number in numbers:
        line = lines[number]
        entry = entries.get(canonical(line.statement))
        if entry is None or line.statement.creates is None:
            continue
        for name, value in line.settings.items():
            was = entry.properties.get(name)
            if was == value or (was is None and PROPERTIES[name].secret):
                continue
            raise line.located(
                CatalogError(
                    f"this statement was run with another '{name}' than the file sets before it",
                    detail=f"It was: {_shown(name, was)}\nThe file says: {_shown(name, value)}",
                    hint="A property does not change what is there. Set it as it was, or after "
                    "this; or DROP what this has made, and the file makes it anew.",
                )
            )


def _shown(name: str, value: str | None) -> str:
    return "not set" if value is None else f"'{shown(name, value)}'"


def _check_whole(mine: dict[Thing, list[int]], history: History) -> None:
    for thing in history.born:
        if thing not in mine:
            raise CatalogError(
                f"{_name(thing)} is there, but not in the file",
                detail=f"It was made by: {_statements(history.living(thing))}",
                hint="A file that is all of a server's statements says of what it does not want "
                "any more that it is to go: add a DROP .. IF EXISTS, or a TERMINATE.",
            )


# -- before anything is run ----------------------------------------------------------------------


class _Asked:
    """A view of the schema registry that knows whether something was missing there."""

    def __init__(self, schemas: SchemaLookup) -> None:
        self._schemas = schemas
        self.missed = False

    def schema(self, wanted: str | int) -> SchemaText | None:
        found = self._schemas.schema(wanted)
        self.missed = self.missed or found is None
        return found


def check_runs(left: Left, catalog: Catalog, session: Session, schemas: SchemaLookup) -> None:
    """Plan what is left against what is there: the StreamSQLError, with its place, of the first
    statement that could not be run. Kafka is not asked."""
    catalog = catalog.copy()
    asked = _Asked(schemas)
    for number, line in enumerate(left.lines):
        if number in left.passed:
            continue
        given = {**session.properties, **line.settings}
        properties = {name: value for name, value in given.items() if value is not None}
        try:
            planned = plan(line.statement, catalog, properties, schemas=asked)
            if isinstance(line.statement, nodes.InsertInto):
                _check_insert(line.statement, planned, left)
        except StreamSQLError as error:
            if asked.missed:
                # A statement before this one may be what registers the schema.
                return
            raise line.located(error) from error.__cause__
        apply(planned, catalog)


def _check_insert(statement: nodes.InsertInto, planned: Planned, left: Left) -> None:
    """An INSERT INTO .. SELECT that was changed would run beside the one it was, unnoticed."""
    assert isinstance(planned, QueryStatementPlan) and planned.sink is not None
    for definition in left.inserts:
        if statement.properties or definition.sink != planned.sink.name:
            continue
        if definition.plan.reads == planned.query.reads:
            raise CatalogError(
                f"a query of another statement inserts into {definition.sink} from there already",
                detail=f"It was made by: {definition.sql}\nThe file says:  {to_sql(statement)};",
                hint=f"If this is to take its place, TERMINATE {definition.id}; before it. If both "
                "are to run, give this one a name: INSERT INTO .. WITH (QUERY_ID = '..').",
            )
