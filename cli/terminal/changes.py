"""How a plan of changes looks: a tree by what reads what, and a line that sums it up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from streamsql.cli.terminal.style import Style

if TYPE_CHECKING:
    from streamsql.api.changing import ChangePlan, PlannedChange

_SHOWN_READERS = 5


def plan_lines(plan: ChangePlan, style: Style) -> list[str]:
    """Changes as a tree, each below the first changed source that it reads; then the totals. With
    errors only the totals, since the affected objects are unknown."""
    if plan.errors:
        return [_sum(plan, style)]
    changes = plan.changes
    lines = [line for item in _tree(changes) for line in _item_lines(*item, style)]
    kept = [item for item in plan.items if item.action == "not in the files"]
    if kept:
        names = ", ".join(item.name for item in kept)
        lines.append(style.dim(f"Not in the files, and kept (--prune drops them): {names}"))
    return [*lines, _sum(plan, style)]


def _tree(changes: tuple[PlannedChange, ...]) -> Iterator[tuple[PlannedChange, int]]:
    """Each once, with its depth."""
    names = {item.name for item in changes}
    below: dict[str | None, list[PlannedChange]] = {}
    for item in changes:
        parent = next((r for r in item.reads if r in names and r != item.name), None)
        below.setdefault(parent, []).append(item)

    def walk(parent: str | None, depth: int) -> Iterator[tuple[PlannedChange, int]]:
        for item in below.get(parent, ()):
            yield item, depth
            yield from walk(item.name, depth + 1)

    return walk(None, 0)


def _item_lines(item: PlannedChange, depth: int, style: Style) -> Iterator[str]:
    sign, paint = _SIGNS[item.action]
    margin = "    " * depth
    what = item.action if item.change is None else f"class {item.change}, {item.meaning}"
    if item.change == 5:
        paint = Style.error
    yield f"{margin}{paint(style, sign)} {item.kind} {paint(style, item.name)}: {what}"
    for part in item.parts:
        yield f"{margin}    {part.clause}: {part.text}"
        yield style.dim(f"{margin}      {part.effect}")
        if part.instead:
            yield style.dim(f"{margin}      if its state were kept: {part.instead}")
    if item.state:
        yield f"{margin}    state: {item.state}"
    if item.read_again:
        yield f"{margin}    reads again: {_listed(item.read_again)}{_size(item)}"
    if item.lost:
        gone = style.warning("deleted from the log")
        yield f"{margin}    {gone}, only in the state: {_listed(item.lost)}"
        yield style.dim(f"{margin}      --from-what-is-left rebuilds it from the remaining records")
    if item.obstacle:
        yield f"{margin}    {style.error('is not applied')}: {item.obstacle}"
    if item.action != "created" and item.readers:
        yield style.dim(f"{margin}    seen by: {_listed(item.readers)}")


_SIGNS: dict[str, tuple[str, Callable[[Style, str], str]]] = {
    "created": ("+", Style.good),
    "changed": ("~", Style.warning),
    "dropped": ("-", Style.error),
}


def _size(item: PlannedChange) -> str:
    if item.records is None:
        return ""
    size = "" if item.bytes is None else f", about {_bytes(item.bytes)}"
    time = "" if item.seconds is None else f", about {_duration(item.seconds)}"
    return f", {item.records:,} records{size}{time}"


def _duration(seconds: int) -> str:
    for unit, size in (("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"


def _bytes(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_SHOWN_READERS])
    more = len(names) - _SHOWN_READERS
    return f"{shown} and {more} more" if more > 0 else shown


def _sum(plan: ChangePlan, style: Style) -> str:
    if plan.errors:
        count = len(plan.errors)
        return style.error(f"{count} error{'' if count == 1 else 's'}: nothing can be applied.")
    counts = Counter(item.action for item in plan.changes)
    if not counts:
        return style.good("No changes. The running pipeline matches the files.")
    done = ", ".join(f"{count} {action}" for action, count in counts.items())
    refused = sum(item.change == 5 for item in plan.changes)
    return f"{done}." + (f" {refused} of them are rejected." if refused else "")
