"""Messages about applied changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streamsql.pipelines.difference import Action, Item
from streamsql.results import Message, Result


def told_of(items: Sequence[Item], has_kept: Callable[[str | None], bool]) -> list[Result]:
    """A message per changed object; `has_kept` tells whether a planned migration of a query's state
    succeeded."""
    done = (item for item in items if item.action not in (Action.NONE, Action.KEEP))
    return [_told(item, has_kept(item.query_id)) for item in done]


def _told(item: Item, kept: bool) -> Result:
    how = ""
    if item.action is Action.CHANGE:
        change = item.change.change
        how = f" (class {change.value}, {item.meaning if kept else change.meaning})"
    name = item.query_id if item.kind == "QUERY" and item.query_id else item.name
    return Message(f"{item.kind.capitalize()} {name} {item.action.value}{how}", item.query_id)
