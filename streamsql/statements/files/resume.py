"""The remaining statements of a file that may have been run before, completely or partially.

A statement that has been run, by any file or user, is skipped; a statement that differs from the
existing object is an error before anything runs. A file can therefore be repeated after a crash,
and after statements were added. Rows are written once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamsql import nodes
from streamsql.catalog import Capture, Catalog, Thing
from streamsql.errors import CatalogError, StreamSQLError
from streamsql.executor.queries.definition import Definition
from streamsql.formats.registered import SchemaText
from streamsql.parser import canonical, to_sql
from streamsql.pipelines.lines import SESSION, Line, changes, read_lines, setting
from streamsql.planner.plans.statements import Planned, QueryStatementPlan, SchemaLookup
from streamsql.planner.statements import apply, plan
from streamsql.properties import PROPERTIES, shown
from streamsql.run_script import NamedText
from streamsql.runtime.history import Event, History
from streamsql.session import Session

if TYPE_CHECKING:
    from streamsql.log.entries import StatementLog
    from streamsql.runtime.state import EngineState

_REPLACE = "To change it, use CREATE OR REPLACE, or DROP it first to start from scratch."
_HOW = {
    "type": "To change it, DROP it first; existing users keep the old definition.",
    "query": "To change it, TERMINATE it first to start from scratch.",
}
"""How to change an object of each kind."""


@dataclass(frozen=True)
class Left:
    """The remaining statements of a file."""

    lines: Sequence[Line]
    """All of it."""
    passed: frozenset[int]
    """Positions of skipped statements."""
    inserts: Sequence[Definition] = ()
    """Existing INSERT queries that are not in the file."""

    @property
    def remark(self) -> str | None:
        """Message about skipped statements."""
        passed = [self.lines[number].statement for number in self.passed]
        if not passed:
            return None
        rows = sum(isinstance(statement, nodes.InsertValues) for statement in passed)
        count = "1 statement has" if len(passed) == 1 else f"{len(passed)} statements have"
        written = f", {rows} of them INSERTs of rows, which are not written again" if rows else ""
        return f"{count} already been run{written}."

    def to_run(self, session: Session) -> Iterator[Line]:
        """The remaining statements, each yielded after the previous one has run in this session.
        Session settings are included only if they change the session and another statement
        follows."""
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
    """The remaining statements of files for an engine; the StreamSQLError of a statement that
    cannot run, or that differs from the existing object. `variables` override those of its
    session."""
    given = {name.upper(): value for name, value in variables.items()}
    session = Session(dict(state.session.properties), {**state.session.variables, **given})
    lines = read_lines(texts, session, definitions_only=whole)
    left = left_of(lines, _history(state, log), whole=whole)
    check_runs(left, state.catalog, state.session, state.schemas())
    return left


def _history(state: EngineState, log: StatementLog) -> History:
    """The current history, cached at startup: folding a long log takes time."""
    known, state.history = state.history, None
    entries = list(log.entries)
    if known is not None and known.length == len(entries):
        return known
    return History.of(entries)


def left_of(lines: Sequence[Line], history: History, *, whole: bool = False) -> Left:
    """The remaining lines of a file (several files are concatenated). CatalogError with position
    for a statement that differs from the existing object. `whole`: also for an existing object that
    is not in the file."""
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
    """The lines of an object that must run."""
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
    """How many lines of an object are its last events; lines without effect may be missing."""
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
    """What to run for an object whose definition differs; the first `same` lines are unchanged."""
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
    """The error for an object with another definition."""
    now = to_sql(line.statement) + ";"
    if same and canonical(line.statement) == living[same - 1].text:
        message = f"{_name(thing)} has changed since this statement was run"
        detail = f"By: {_statements(living[same:])}"
        hint = "Add the change to the file, or DROP the object so that the file creates it again."
    else:
        message = f"{_name(thing)} exists with another definition"
        detail = f"Created by:   {_statements(living)}\nThe file has: {now}"
        hint = f"{_HOW.get(thing[0], _REPLACE)} Or restore the statement in the file."
    return line.located(CatalogError(message, detail=detail, hint=hint))


def _statements(events: Sequence[Event]) -> str:
    return "\n".join(event.entry.sql for event in events)


def _check_settings(numbers: Sequence[int], lines: Sequence[Line], done: Sequence[Event]) -> None:
    """Raises CatalogError if a statement ran with other properties than the file SETs."""
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
                    f"this statement was run with another value of '{name}' than the file sets",
                    detail=f"It ran with:    {_shown(name, was)}\nThe file sets:  "
                    f"{_shown(name, value)}",
                    hint="A property does not affect existing objects. Restore its value, or set "
                    "it after "
                    "this statement; or DROP the object so that the file creates it again.",
                )
            )


def _shown(name: str, value: str | None) -> str:
    return "not set" if value is None else f"'{shown(name, value)}'"


def _check_whole(mine: dict[Thing, list[int]], history: History) -> None:
    for thing in history.born:
        if thing not in mine:
            raise CatalogError(
                f"{_name(thing)} exists, but is not in the file",
                detail=f"Created by: {_statements(history.living(thing))}",
                hint="A queries file defines the whole catalog. Add a DROP .. IF EXISTS or a "
                "TERMINATE for "
                "objects that are no longer needed.",
            )


# -- before anything runs ------------------------------------------------------------------------


class _Asked:
    """Records whether a schema was missing in the registry."""

    def __init__(self, schemas: SchemaLookup) -> None:
        self._schemas = schemas
        self.missed = False

    def schema(self, wanted: str | int) -> SchemaText | None:
        found = self._schemas.schema(wanted)
        self.missed = self.missed or found is None
        return found

    def table(self, capture: Capture) -> SchemaText | None:
        return self._schemas.table(capture)


def check_runs(left: Left, catalog: Catalog, session: Session, schemas: SchemaLookup) -> None:
    """Plans the remaining statements: the StreamSQLError, with position, of the first one that
    cannot run. Does not access Kafka."""
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
                # A preceding statement may register the schema.
                return
            raise line.located(error) from error.__cause__
        apply(planned, catalog)


def _check_insert(statement: nodes.InsertInto, planned: Planned, left: Left) -> None:
    """A changed INSERT INTO .. SELECT would silently run in addition to the old one."""
    assert isinstance(planned, QueryStatementPlan) and planned.sink is not None
    for definition in left.inserts:
        if statement.properties or definition.sink != planned.sink.name:
            continue
        if definition.plan.reads == planned.query.reads:
            raise CatalogError(
                f"another query already inserts into {definition.sink} from the same source",
                detail=f"Created by:   {definition.sql}\nThe file has: {to_sql(statement)};",
                hint=f"To replace it, use TERMINATE {definition.id}; first. To run both, name this "
                "one: INSERT INTO .. WITH (QUERY_ID = '..').",
            )
