"""The catalog as a script: of a statement log, what still matters, so that running it anew gives
the same streams, tables, views, types, functions and queries.

What was dropped is left out, unless something that is still there was made with it. Topics and
their records are not part of it; nothing in it deletes a topic. Query ids may be numbered anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from streamsql import nodes
from streamsql.catalog import Catalog
from streamsql.errors import InternalError
from streamsql.log.entries import Entry
from streamsql.nodes import QueryAction, Statement
from streamsql.parser import to_sql
from streamsql.parser.tokens.lexer import lex
from streamsql.planner.ddl.alter import AlterPlan
from streamsql.planner.ddl.control import ControlPlan
from streamsql.planner.ddl.session import PropertyPlan
from streamsql.planner.ddl.types import TypePlan
from streamsql.planner.ddl.user_functions import FunctionPlan
from streamsql.planner.ddl.views import ViewPlan
from streamsql.planner.plans.statements import Planned, QueryStatementPlan, SourcePlan
from streamsql.planner.statements import apply
from streamsql.properties import HIDDEN, shown
from streamsql.runtime.history import ended
from streamsql.runtime.processing_log import declare
from streamsql.runtime.replay import plan_again
from streamsql.version import VERSION

_HEADER = f"""\
-- A catalog of streamsql {VERSION}: run it with `streamsql catalog import`.
-- Topics and their records are not part of it: queries read the topics that are there then.
"""


def catalog_script(entries: Iterable[Entry]) -> str:
    """The script; InternalError for a log that cannot be replayed."""
    history = _History()
    for entry in entries:
        history.add(entry)
    script = _Script()
    for number in history.needed():
        script.add(history.steps[number])
    script.finish(history)
    return "\n".join([_HEADER, *script.lines])


@dataclass(frozen=True)
class _Step:
    """An entry, and what it did: objects by kind and name."""

    entry: Entry
    statement: Statement
    planned: Planned
    made: tuple[tuple[str, str], ...]
    ended: tuple[tuple[str, str], ...]


@dataclass(eq=False)
class _Lifetime:
    """Of one object: the steps that made it what it was, and the one that ended it."""

    steps: list[int]
    end: int | None = None

    def was_there(self, step: int) -> bool:
        return self.steps[0] < step and (self.end is None or step <= self.end)


@dataclass
class _History:
    """All that has happened to a catalog."""

    steps: list[_Step] = field(default_factory=list)
    catalog: Catalog = field(default_factory=Catalog)
    paused: set[str] = field(default_factory=set)
    properties: dict[str, str] = field(default_factory=dict)
    """Of the engine's own session at the end, as `variables`."""
    variables: dict[str, str] = field(default_factory=dict)
    _living: dict[tuple[str, str], _Lifetime] = field(default_factory=dict)
    _by_name: dict[str, list[_Lifetime]] = field(default_factory=lambda: defaultdict(list))
    _by_step: dict[int, list[_Lifetime]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        declare(self.catalog)

    def add(self, entry: Entry) -> None:
        if entry.is_row:
            return
        statement, planned = plan_again(entry, self.catalog)
        apply(planned, self.catalog)
        number = len(self.steps)
        step = _Step(entry, statement, planned, _made(planned), ended(planned))
        self.steps.append(step)
        for thing in step.ended:
            lifetime = self._living.pop(thing, None)
            if lifetime is not None:
                lifetime.end = number
                self.paused.discard(thing[1])
        for thing in step.made:
            lifetime = self._living.setdefault(thing, _Lifetime([]))
            if not lifetime.steps:
                self._by_name[thing[1]].append(lifetime)
            lifetime.steps.append(number)
            self._by_step[number].append(lifetime)
        self._session(statement, planned)

    def _session(self, statement: Statement, planned: Planned) -> None:
        match planned, statement:
            case PropertyPlan(name=name, value=None), _:
                self.properties.pop(name, None)
            case PropertyPlan(name=name, value=str(value)), _:
                self.properties[name] = value
            case _, nodes.DefineVariable(name=name, value=value):
                self.variables[name.upper()] = value
            case _, nodes.UndefineVariable(name=name):
                self.variables.pop(name.upper(), None)
            case ControlPlan(action=QueryAction.PAUSE, query_ids=ids), _:
                self.paused.update(ids)
            case ControlPlan(action=QueryAction.RESUME, query_ids=ids), _:
                self.paused.difference_update(ids)

    def needed(self) -> list[int]:
        """The steps without which what is there now would not be, or not be the same."""
        wanted = list(self._living.values())
        seen: set[_Lifetime] = set()
        steps: set[int] = set()
        while wanted:
            lifetime = wanted.pop()
            if lifetime in seen:
                continue
            seen.add(lifetime)
            if lifetime.end is not None:
                steps.add(lifetime.end)
            for number in lifetime.steps:
                steps.add(number)
                wanted += self._by_step[number]
                wanted += self._used(number)
        return sorted(steps)

    def _used(self, number: int) -> list[_Lifetime]:
        """What was there, by any name that stands in the statement."""
        words = {str(t.value).strip("`\"'") for t in lex(self.steps[number].entry.sql)}
        names = words | {word.upper() for word in words}
        return [x for name in names for x in self._by_name.get(name, ()) if x.was_there(number)]


def _made(planned: Planned) -> tuple[tuple[str, str], ...]:
    match planned:
        case SourcePlan(source=source) | AlterPlan(source=source):
            return (("source", source.name),)
        case QueryStatementPlan(query=query, sink=sink) if query.query_id and sink:
            made = (("query", query.query_id),)
            return (*made, ("source", sink.name)) if planned.creates_sink else made
        case ViewPlan(name=name, view=view) if view is not None:
            return (("view", name),)
        case TypePlan(name=name, type=kind) if kind is not None:
            return (("type", name),)
        case FunctionPlan(name=name, statement=statement) if statement is not None:
            return (("function", name),)
    return ()


@dataclass
class _Script:
    """The statements so far, and the catalog as they make it."""

    lines: list[str] = field(default_factory=list)
    _catalog: Catalog = field(default_factory=Catalog)
    _properties: Mapping[str, str] = field(default_factory=dict)
    _ids: dict[str, str] = field(default_factory=dict)
    """Of queries: how they are called here."""
    _hidden: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        declare(self._catalog)

    def add(self, step: _Step) -> None:
        for kind, name in step.ended:
            statement = self._end(kind, name)
            if statement is not None:
                self._run(statement, step.entry)
        if step.made:
            self._set(step.entry.properties)
            planned = self._run(step.statement, step.entry)
            if isinstance(planned, QueryStatementPlan):
                old, new = step.entry.query_id, planned.query.query_id
                assert old is not None and new is not None
                self._ids[old] = new

    def _end(self, kind: str, name: str) -> Statement | None:
        """How to end an object; None where there is none."""
        catalog = self._catalog
        if kind == "query" and self._ids.get(name) in catalog.queries:
            return nodes.ControlQuery(action=QueryAction.TERMINATE, query_id=self._ids[name])
        if kind == "source" and name in catalog.sources:
            return nodes.DropSource(kind=catalog.sources[name].kind, name=name)
        if kind == "view" and name in catalog.views:
            return nodes.DropView(name=name)
        if kind == "type" and name in catalog.types:
            return nodes.DropType(name=name)
        if kind == "function" and name in catalog.functions:
            return nodes.DropFunction(name=name)
        return None

    def _run(self, statement: Statement, entry: Entry) -> Planned:
        text = to_sql(statement) + ";"
        again = Entry(
            entry.sequence, text, entry.properties, None, entry.topics, None, VERSION, entry.schemas
        )
        _, planned = plan_again(again, self._catalog)
        apply(planned, self._catalog)
        self.lines.append(text)
        return planned

    def _set(self, wanted: Mapping[str, str]) -> None:
        for name in self._properties.keys() - wanted.keys():
            self.lines.append(to_sql(nodes.UnsetProperty(name=name)) + ";")
        for name, value in wanted.items():
            if self._properties.get(name) == value:
                continue
            if shown(name, value) != HIDDEN:
                self.lines.append(to_sql(nodes.SetProperty(name=name, value=value)) + ";")
            elif (name, value) not in self._hidden:
                self._hidden.add((name, value))
                self.lines.append(f"-- SET '{name}': left out, as its value is a secret.")
        self._properties = dict(wanted)

    def finish(self, history: _History) -> None:
        """What concerns no object; InternalError where the script is not what it should be."""
        for query_id in sorted(history.paused):
            statement = nodes.ControlQuery(action=QueryAction.PAUSE, query_id=self._ids[query_id])
            self.lines.append(to_sql(statement) + ";")
        self._set(history.properties)
        for name, value in history.variables.items():
            self.lines.append(to_sql(nodes.DefineVariable(name=name, value=value)) + ";")
        if _outline(self._catalog) != _outline(history.catalog):
            raise InternalError("the script would not give the same catalog")


def _outline(catalog: Catalog) -> object:
    """What two catalogs have in common that differ in the ids of queries only."""
    queries = sorted((query.writes, query.reads) for query in catalog.queries.values())
    sources = {s.name: (s.kind, s.schema, s.topic) for s in catalog.sources.values()}
    return sources, queries, catalog.types, catalog.views.keys(), catalog.functions.keys()
