"""Changes of files relative to the running pipeline, as data, without an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from streamsql.catalog import Catalog
from streamsql.errors import StreamSQLError
from streamsql.pipelines.desired_state import read_desired
from streamsql.pipelines.difference import Action, Item, differences
from streamsql.pipelines.reading import Reading
from streamsql.pipelines.running import Running, running_of_server
from streamsql.pipelines.steps import check_steps
from streamsql.planner.changes.classes import ChangeClass
from streamsql.planner.plans.statements import QueryStatementPlan, SchemaLookup
from streamsql.registry.client import RegistryClient
from streamsql.registry.lookup import RegistrySchemas
from streamsql.run_script import NamedText
from streamsql.session import Session
from streamsql.status import QueryInfo

REFUSED = 5
UNCHANGED = Action.NONE.value
_REBUILT = (ChangeClass.STATE, ChangeClass.REBUILD)


@dataclass(frozen=True)
class ChangedPart:
    """A changed part of an object."""

    change: int
    """Class of the change."""
    clause: str
    text: str
    effect: str
    instead: str | None
    """For class 4: the state if it were kept."""


@dataclass(frozen=True)
class PlannedChange:
    """A stream, table, view, type, function or INSERT query, and its change."""

    kind: str
    name: str
    action: str
    """`created`, `changed`, `dropped`, `unchanged` or `not in the files`."""
    change: int | None
    """Class of the change."""
    meaning: str
    parts: tuple[ChangedPart, ...]
    reads: tuple[str, ...]
    readers: tuple[str, ...]
    """Affected streams, tables and queries downstream."""
    state: str
    """`kept`, `rewritten` or `rebuilt`; empty without state."""
    read_again: tuple[str, ...] = ()
    """Topics that a rebuild reads from the query's start offsets."""
    obstacle: str | None = None
    """Why a required rebuild is impossible."""
    records: int | None = None
    """Approximate number of records; None without Kafka."""
    bytes: int | None = None
    """Estimated from the records the query has read."""
    seconds: int | None = None
    """Estimated from the last catch-up of such a query."""
    lost: tuple[str, ...] = ()
    """Deleted records whose results are only in the state."""


_SAID_IF_KNOWN = ("read_again", "obstacle", "records", "bytes", "seconds", "lost")
_NAMES = frozenset(each.name for each in fields(PlannedChange))
"""A newer server may send further fields."""


@dataclass(frozen=True)
class ChangePlan:
    """Comparison of files with the running pipeline."""

    items: tuple[PlannedChange, ...]
    errors: tuple[StreamSQLError, ...]
    """Errors of invalid statements."""
    _items: tuple[Item, ...] = field(default=(), repr=False)

    @property
    def changes(self) -> tuple[PlannedChange, ...]:
        still = (Action.NONE.value, Action.KEEP.value)
        return tuple(item for item in self.items if item.action not in still)

    @property
    def exit_code(self) -> int:
        """0: no changes; 2: changes; 1: errors or rejected changes."""
        if self.errors or any(item.change == REFUSED for item in self.items):
            return 1
        return 2 if self.changes else 0

    def measured(self, measure: Callable[[Item], Reading | None]) -> ChangePlan:
        """With the result of `measure` for topics to be read again."""
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
        """With the measurements of another plan for the same files."""
        known = {(item.kind, item.name): item for item in other.items}
        items = (
            replace(item, records=of.records, bytes=of.bytes, seconds=of.seconds, lost=of.lost)
            if item.read_again and (of := known.get((item.kind, item.name))) is not None
            else item
            for item in self.items
        )
        return replace(self, items=tuple(items))

    def to_json(self) -> dict[str, Any]:
        """Output of `streamsql plan --json`."""
        errors = [{"message": e.message, "text": str(e)} for e in self.errors]
        changes = [_content(item) for item in self.items]
        return {"changes": changes, "errors": errors, "exit_code": self.exit_code}

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> ChangePlan:
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
        """Raises the UnsupportedError of the first unsupported change, if known: a server's plan
        does not contain it."""
        check_steps(self._items)


def _content(item: PlannedChange) -> dict[str, Any]:
    """As JSON without empty fields, which earlier clients may not know."""
    content = asdict(item)
    return {name: value for name, value in content.items() if value or name not in _SAID_IF_KNOWN}


def plan_of_server(
    catalog: Catalog,
    queries: Iterable[QueryInfo],
    texts: Sequence[NamedText],
    properties: Mapping[str, str],
    variables: Mapping[str, str],
    prune: bool,
) -> ChangePlan:
    """Compares with a server's catalog."""
    return plan_of(texts, properties, variables, running_of_server(catalog, queries), prune)


def plan_of(
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
    """Compares with the running pipeline; `session` and `partial` as in read_desired."""
    desired = read_desired(texts, session, schemas, running, partial=partial)
    items = tuple(differences(desired, running, prune=prune))
    shown = (
        _shown(item, _seen_by(item, desired.catalog if item.definitions else running.catalog))
        for item in items
    )
    return ChangePlan(tuple(shown), tuple(desired.errors), items)


def _seen_by(item: Item, catalog: Catalog) -> list[str]:
    """Objects that see the change; for an INSERT query, its target first."""
    if item.kind != "QUERY":
        return _readers(item.name, catalog)
    planned = item.definitions[0].planned if item.definitions else None
    made = planned.writes if isinstance(planned, QueryStatementPlan) else None
    target = made or catalog.queries[item.name].writes
    return [target, *_readers(target, catalog)]


def _readers(source: str, catalog: Catalog) -> list[str]:
    """Names of all downstream objects: query results and views."""
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
        item.obstacle if changed and item.change.change in _REBUILT and not item.keeps else None,
    )
