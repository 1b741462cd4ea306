"""The catalog as a script: the relevant part of a statement log, whose execution creates the same
streams, tables, views, types, functions and queries.

Dropped objects are omitted unless an existing object was created with them. The script contains no
topics and records, and never deletes a topic. Query ids may be renumbered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from streamsql import nodes
from streamsql.catalog import Catalog, Source, Thing
from streamsql.errors import InternalError
from streamsql.log.entries import Entry
from streamsql.nodes import QueryAction, Statement
from streamsql.parser import to_sql
from streamsql.parser.tokens.lexer import lex
from streamsql.planner.plans.statements import Planned, QueryStatementPlan
from streamsql.planner.processing_log import declare
from streamsql.planner.statements import apply
from streamsql.properties import HIDDEN, shown
from streamsql.runtime.replay import Replay, plan_again
from streamsql.version import VERSION

_HEADER = f"""\
-- Catalog of streamsql {VERSION}. Run it with `streamsql catalog import`.
-- Topics and their records are not included: queries read the topics that exist at that time.
"""


def catalog_script(entries: Iterable[Entry]) -> str:
    """Raises InternalError for a log that cannot be replayed."""
    history = _History()
    for entry in entries:
        for statement in entry.statements:
            history.add(statement)
    script = _Script()
    for number in history.needed():
        script.add(history.steps[number])
    script.finish(history)
    return "\n".join([_HEADER, *script.lines])


ENDED_BY = {kind.ends: kind for kind in Statement.__subclasses__() if kind.ends is not None}
"""The statement that ends an object of each kind."""


@dataclass(frozen=True)
class _Step:
    """A log entry and its effects."""

    entry: Entry
    statement: Statement
    planned: Planned


@dataclass(eq=False)
class _Lifetime:
    """The steps that define one object, and the one that ended it."""

    steps: list[int]
    end: int | None = None
    rebuilt: int = -1
    """The last step that redefined it; earlier steps are irrelevant."""

    @property
    def made(self) -> int:
        """The first relevant step."""
        return max(self.steps[0], self.rebuilt)

    def was_there(self, step: int) -> bool:
        return self.steps[0] < step and (self.end is None or step <= self.end)


@dataclass
class _History:
    """The history of a catalog."""

    steps: list[_Step] = field(default_factory=list)
    replay: Replay = field(default_factory=lambda: Replay(Catalog()))
    _living: dict[Thing, _Lifetime] = field(default_factory=dict)
    _by_name: dict[str, list[_Lifetime]] = field(default_factory=lambda: defaultdict(list))
    _by_step: dict[int, list[_Lifetime]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        declare(self.replay.catalog)

    def add(self, entry: Entry) -> None:
        done = self.replay.add(entry)
        if done is None:
            return
        number, step = len(self.steps), _Step(entry, *done)
        self.steps.append(step)
        for thing in step.planned.ends:
            lifetime = self._living.pop(thing, None)
            if lifetime is not None:
                lifetime.end = number
        for thing in step.planned.makes:
            lifetime = self._living.setdefault(thing, _Lifetime([]))
            if not lifetime.steps:
                self._by_name[thing[1]].append(lifetime)
            lifetime.steps.append(number)
            if entry.rebuilds or entry.replaces:
                lifetime.rebuilt = number
            self._by_step[number].append(lifetime)

    def needed(self) -> list[int]:
        """The steps that define the current catalog."""
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
                if number < lifetime.rebuilt:
                    continue
                steps.add(number)
                wanted += self._by_step[number]
                wanted += self._used(number)
        return self._in_order(steps)

    def _in_order(self, steps: set[int]) -> list[int]:
        """In log order, with redefined objects before their former readers."""
        order: dict[int, None] = {}

        def add(number: int, above: frozenset[int]) -> None:
            if number in order:
                return
            for lifetime in self._used(number):
                if lifetime.made in steps and lifetime.made not in (above | {number}):
                    add(lifetime.made, above | {number})
            order.setdefault(number)

        for number in sorted(steps):
            add(number, frozenset())
        return list(order)

    def _used(self, number: int) -> list[_Lifetime]:
        """Objects that the statement names."""
        words = {str(t.value).strip("`\"'") for t in lex(self.steps[number].entry.sql)}
        names = words | {word.upper() for word in words}
        return [x for name in names for x in self._by_name.get(name, ()) if x.was_there(number)]


@dataclass
class _Script:
    """The statements so far, and the resulting catalog."""

    lines: list[str] = field(default_factory=list)
    _catalog: Catalog = field(default_factory=Catalog)
    _properties: Mapping[str, str] = field(default_factory=dict)
    _ids: dict[str, str] = field(default_factory=dict)
    """Mapping of query ids to those of the script."""
    _hidden: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        declare(self._catalog)

    def add(self, step: _Step) -> None:
        for kind, name in step.planned.ends:
            statement = self._end(kind, name)
            if statement is not None:
                self._run(statement, step.entry)
        if step.planned.makes:
            self._set(step.entry.properties)
            planned = self._run(step.statement, step.entry)
            if isinstance(planned, QueryStatementPlan):
                old, new = step.entry.query_id, planned.query.query_id
                assert old is not None and new is not None
                self._ids[old] = new

    def _end(self, kind: str, name: str) -> Statement | None:
        if kind == "query":
            query_id = self._ids.get(name)
            there = query_id in self._catalog.queries
            control = nodes.ControlQuery(action=QueryAction.TERMINATE, query_id=query_id)
            return control if there else None
        found = self._catalog.things(kind).get(name)
        if found is None:
            return None
        if isinstance(found, Source):
            return nodes.DropSource(kind=found.kind, name=name)
        return ENDED_BY[kind](name=name)  # type: ignore[call-arg]

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
                self.lines.append(f"-- SET '{name}': omitted, because its value is a secret.")
        self._properties = dict(wanted)

    def finish(self, history: _History) -> None:
        """Adds settings; InternalError if the script's catalog differs."""
        replay = history.replay
        for query_id in sorted(query_id for query_id, q in replay.queries.items() if q.paused):
            statement = nodes.ControlQuery(action=QueryAction.PAUSE, query_id=self._ids[query_id])
            self.lines.append(to_sql(statement) + ";")
        self._set(replay.properties)
        for name, value in replay.variables.items():
            self.lines.append(to_sql(nodes.DefineVariable(name=name, value=value)) + ";")
        if _outline(self._catalog) != _outline(replay.catalog):
            raise InternalError("the script would not create the same catalog")


def _outline(catalog: Catalog) -> object:
    """A catalog without its query ids, for comparison."""
    sources = [replace(s, created_by_query=None, statement="") for s in catalog.sources.values()]
    queries = sorted((query.writes, query.reads) for query in catalog.queries.values())
    others = Catalog.kinds().keys() - {"source", "query"}
    names = {kind: catalog.things(kind).keys() for kind in others}
    return {source.name: source for source in sources}, queries, names, catalog.types
