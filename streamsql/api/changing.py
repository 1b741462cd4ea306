"""What files would change of what runs, without an engine: as data, for who shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from streamsql.api.backup import entries_of_engine
from streamsql.catalog import Catalog
from streamsql.config import EngineConfig
from streamsql.errors import StreamSQLError
from streamsql.planner.changes.classes import ChangeClass
from streamsql.planner.plans.statements import QueryStatementPlan, SchemaLookup
from streamsql.properties import secrets_of
from streamsql.registry.client import RegistryClient
from streamsql.registry.lookup import RegistrySchemas
from streamsql.run_script import NamedText
from streamsql.session import Session
from streamsql.statements.changes.difference import Action, Item, differences
from streamsql.statements.changes.retention import Reading
from streamsql.statements.changes.running import Running, running_of_log, running_of_server
from streamsql.statements.changes.steps import check_steps
from streamsql.statements.changes.undo import before_last_apply
from streamsql.statements.changes.wanted import read_wanted
from streamsql.status import QueryInfo

__all__ = [
    "ChangePlan",
    "ChangedPart",
    "PlannedChange",
    "plan_of_log",
    "plan_of_server",
    "undo_plan_of_log",
]

REFUSED = 5
UNCHANGED = Action.NONE.value
_ANEW = (ChangeClass.STATE, ChangeClass.REBUILD)


@dataclass(frozen=True)
class ChangedPart:
    """One part of a thing that is another than it was."""

    change: int
    """Its class."""
    clause: str
    text: str
    effect: str
    instead: str | None
    """Of class 4: what the state would be if it were kept."""


@dataclass(frozen=True)
class PlannedChange:
    """A stream, table, view, type, function or INSERT query, and what becomes of it."""

    kind: str
    name: str
    action: str
    """`created`, `changed`, `dropped`, `unchanged` or `not in the files`."""
    change: int | None
    """The class of a change."""
    meaning: str
    parts: tuple[ChangedPart, ...]
    reads: tuple[str, ...]
    readers: tuple[str, ...]
    """Who sees it: the streams, tables and queries further down."""
    state: str
    """`kept`, `rewritten` or `built anew`; empty where its query keeps none."""
    read_again: tuple[str, ...] = ()
    """The topics that its query reads again, from where it began, to be built anew."""
    obstacle: str | None = None
    """Of a change that would need that, why it cannot be carried out."""
    records: int | None = None
    """About how many that are; None where Kafka was not asked."""
    bytes: int | None = None
    """Of their keys and values, by those that the query has read so far."""
    seconds: int | None = None
    """About how long that takes, by how fast such a query has last caught up."""
    lost: tuple[str, ...] = ()
    """What it began with and the log has no more: that part only the state knows."""


_SAID_IF_KNOWN = ("read_again", "obstacle", "records", "bytes", "seconds", "lost")
_NAMES = frozenset(each.name for each in fields(PlannedChange))
"""A later server may say more."""


@dataclass(frozen=True)
class ChangePlan:
    """All that files say, beside all that runs."""

    items: tuple[PlannedChange, ...]
    errors: tuple[StreamSQLError, ...]
    """Of statements that cannot be run as they are."""
    _items: tuple[Item, ...] = field(default=(), repr=False)

    @property
    def changes(self) -> tuple[PlannedChange, ...]:
        """What is not as it is to be."""
        still = (Action.NONE.value, Action.KEEP.value)
        return tuple(item for item in self.items if item.action not in still)

    @property
    def exit_code(self) -> int:
        """0: nothing to do; 2: changes; 1: errors, or a change that is refused."""
        if self.errors or any(item.change == REFUSED for item in self.items):
            return 1
        return 2 if self.changes else 0

    def measured(self, measure: Callable[[Item], Reading | None]) -> ChangePlan:
        """With what is read again, as `measure` tells it."""
        found = {
            item.name: reading
            for item in self._items
            if item.read_again and (reading := measure(item)) is not None
        }
        items = (
            replace(
                item,
                records=found[item.name].records,
                bytes=found[item.name].bytes,
                seconds=found[item.name].seconds,
                lost=tuple(map(str, found[item.name].lost)),
            )
            if item.read_again and item.name in found
            else item
            for item in self.items
        )
        return replace(self, items=tuple(items))

    def with_readings_of(self, other: ChangePlan) -> ChangePlan:
        """With what the other one of the same files knows of what is read again."""
        known = {(item.kind, item.name): item for item in other.items}
        items = (
            replace(item, records=of.records, bytes=of.bytes, seconds=of.seconds, lost=of.lost)
            if item.read_again and (of := known.get((item.kind, item.name))) is not None
            else item
            for item in self.items
        )
        return replace(self, items=tuple(items))

    def to_json(self) -> dict[str, Any]:
        """What `streamsql plan --json` prints."""
        errors = [{"message": e.message, "text": str(e)} for e in self.errors]
        changes = [_content(item) for item in self.items]
        return {"changes": changes, "errors": errors, "exit_code": self.exit_code}

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> ChangePlan:
        """The same again, but for where the errors are."""
        items = (
            PlannedChange(
                **{
                    **{name: value for name, value in item.items() if name in _NAMES},
                    "parts": tuple(ChangedPart(**part) for part in item["parts"]),
                    "reads": tuple(item["reads"]),
                    "readers": tuple(item["readers"]),
                    "read_again": tuple(item.get("read_again", ())),
                    "lost": tuple(item.get("lost", ())),
                }
            )
            for item in content["changes"]
        )
        errors = (StreamSQLError(error["message"]) for error in content["errors"])
        return ChangePlan(tuple(items), tuple(errors))

    def check_applicable(self) -> None:
        """The UnsupportedError of the first change that is not carried out, where that is known:
        not of a plan that a server has made."""
        check_steps(self._items)


def _content(item: PlannedChange) -> dict[str, Any]:
    """As JSON, without what says nothing: earlier clients do not know all of it."""
    content = asdict(item)
    return {name: value for name, value in content.items() if value or name not in _SAID_IF_KNOWN}


def plan_of_log(
    config: EngineConfig, texts: Sequence[NamedText], variables: Mapping[str, str], prune: bool
) -> ChangePlan:
    """Against what the statement log of an engine holds, beside one that runs."""
    running = running_of_log(entries_of_engine(config))
    return _plan(texts, {**running.properties, **config.properties}, variables, running, prune)


def undo_plan_of_log(config: EngineConfig) -> ChangePlan:
    """What would take back what was applied last; CatalogError where nothing was, UnsupportedError
    where more was defined since."""
    entries = entries_of_engine(config)
    secrets = secrets_of(config.properties)
    return _plan([before_last_apply(entries)], secrets, {}, running_of_log(entries), True)


def plan_of_server(
    catalog: Catalog,
    queries: Iterable[QueryInfo],
    texts: Sequence[NamedText],
    properties: Mapping[str, str],
    variables: Mapping[str, str],
    prune: bool,
) -> ChangePlan:
    """Against what a server says it has."""
    return _plan(texts, properties, variables, running_of_server(catalog, queries), prune)


def _plan(
    texts: Sequence[NamedText],
    properties: Mapping[str, str],
    variables: Mapping[str, str],
    running: Running,
    prune: bool,
) -> ChangePlan:
    client = RegistryClient.of(properties)
    schemas = running.schemas if client is None else RegistrySchemas(lambda: client)
    session = Session(dict(properties), {name.upper(): value for name, value in variables.items()})
    return plan_of_running(texts, session, schemas, running, prune=prune)


def plan_of_running(
    texts: Sequence[NamedText],
    session: Session,
    schemas: SchemaLookup | None,
    running: Running,
    *,
    prune: bool,
    partial: bool = False,
) -> ChangePlan:
    """Against what runs; `session` and `partial` as read_wanted has them."""
    wanted = read_wanted(texts, session, schemas, running, partial=partial)
    items = tuple(differences(wanted, running, prune=prune))
    shown = (
        _shown(item, _seen_by(item, wanted.catalog if item.definitions else running.catalog))
        for item in items
    )
    return ChangePlan(tuple(shown), tuple(wanted.errors), items)


def _seen_by(item: Item, catalog: Catalog) -> list[str]:
    """Who sees what becomes of it. What an INSERT query writes to sees it first."""
    if item.kind != "QUERY":
        return _readers(item.name, catalog)
    planned = item.definitions[0].planned if item.definitions else None
    made = planned.writes if isinstance(planned, QueryStatementPlan) else None
    target = made or catalog.queries[item.name].writes
    return [target, *_readers(target, catalog)]


def _readers(source: str, catalog: Catalog) -> list[str]:
    """Names of all that stands further down: what queries write, and views."""
    found: dict[str, None] = {}
    todo = [source]
    while todo:
        name = todo.pop(0)
        below = [catalog.queries[query_id].writes for query_id in catalog.readers(name)]
        for reader in (*below, *catalog.viewers(name)):
            if reader not in found:
                found[reader] = None
                todo.append(reader)
    return list(found)


def _shown(item: Item, readers: Sequence[str]) -> PlannedChange:
    changed = item.action is Action.CHANGE
    return PlannedChange(
        item.kind,
        item.name,
        item.action.value,
        item.change.change.value if changed else None,
        item.meaning if changed else "",
        tuple(
            ChangedPart(d.change.value, d.clause, d.text, d.effect, d.instead)
            for d in item.change.differences
        ),
        item.reads,
        tuple(readers),
        item.state if changed else "",
        item.read_again,
        item.obstacle if changed and item.change.change in _ANEW and not item.keeps else None,
    )
