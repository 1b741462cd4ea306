"""Classifies a change of a query by comparing two plans part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from streamsql.planner.changes.classes import PARTITIONS, Change, ChangeClass, Difference
from streamsql.planner.changes.keeping import moves_state
from streamsql.planner.changes.parts import parts_of_plan
from streamsql.planner.operators import Operator, Sink
from streamsql.planner.operators.parts import Part, Place
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.schema import Kind
from streamsql.types import SQLType, is_numeric, to_sql, widens_to

_REBUILT = "the existing state does not determine the new one: rebuilt from the log"
_MIXED = "the state would mix rows of the old and of the new definition"


def compare_queries(old: QueryPlan, new: QueryPlan) -> Change:
    """The change from a running query to a new definition."""
    change = compare_plans(old.root, new.root)
    return change.and_also(_settings(old, new))


def compare_inserts(old: QueryPlan, new: QueryPlan) -> Change:
    """The change of an INSERT INTO .. SELECT, which does not create its target."""
    was, now = (plan.root.target for plan in (old, new) if isinstance(plan.root, Sink))
    found = []
    if was.name != now.name:
        effect = "the written rows stay in the old target, so it is another query"
        text = _both(was.name, now.name)
        found.append(Difference(ChangeClass.REBUILD, "INSERT INTO", text, effect))
    elif was.timestamp != now.timestamp:
        names = (source.timestamp.name if source.timestamp else "none" for source in (was, now))
        effect = "applies to records written from now on"
        found.append(Difference(ChangeClass.IN_PLACE, "TIMESTAMP", _both(*names), effect))
    return compare_queries(old, new).and_also(found)


def compare_plans(old: Operator, new: Operator) -> Change:
    """The change between two optimized plans, each with its Sink."""
    before, after = parts_of_plan(old), parts_of_plan(new)
    kind = new.kind
    places = {p.place for p in before.values()} & {p.place for p in after.values()}
    found: list[Difference] = []
    for key in dict.fromkeys((*before, *after)):
        was, now = before.get(key), after.get(key)
        part = now or was
        # Parts of a new subquery belong to the part that added it.
        if part is not None and part.clause != "aggregates" and part.place in places:
            found += _differences(was, now, kind)
    for place in dict.fromkeys(p.place for p in after.values()):
        if place in places:
            found += _aggregates(_calls(before, place), _calls(after, place), place)
    return Change(tuple(found))


def _settings(old: QueryPlan, new: QueryPlan) -> Iterator[Difference]:
    effect = "the query continues from its checkpoint"
    pairs = {
        "guarantee": (old.guarantee.value, new.guarantee.value),
        "mode": (old.mode.mode.value, new.mode.mode.value),
    }
    for name, (was, now) in pairs.items():
        if was != now:
            yield Difference(ChangeClass.SETTINGS, name, f"{was}, now {now}", effect)
    told = new.partitions not in (None, old.partitions)
    if told and moves_state(old.root) and moves_state(new.root):
        text = f"{old.partitions or 'default'}, now {new.partitions}"
        effect = "keys and their state move to other tasks"
        yield Difference(ChangeClass.STATE, PARTITIONS, text, effect, rewrites=True)


# -- parts ---------------------------------------------------------------------------------------

_Comparison = Callable[[Part | None, Part | None, Kind], Iterator[Difference]]


def _differences(was: Part | None, now: Part | None, kind: Kind) -> Iterator[Difference]:
    part = now or was
    assert part is not None
    compare = _COMPARISONS.get(part.clause, _kept)
    if part.clause == "FROM" and part.name == "start":
        compare = _start
    yield from compare(was, now, kind)


def _filter(was: Part | None, now: Part | None, kind: Kind) -> Iterator[Difference]:
    if was is not None and now is not None and was.text == now.text:
        return
    part = now or was
    assert part is not None
    if part.stage:
        yield _difference(was, now, ChangeClass.REBUILD, _REBUILT, instead=_MIXED)
    elif part.keeps and (was is None or now is None):
        effect = "a table's filter stores which keys have passed; this state is rebuilt"
        yield _difference(was, now, ChangeClass.REBUILD, effect)
    else:
        yield _difference(was, now, ChangeClass.IN_PLACE, _LATER[kind])


_LATER = {
    Kind.STREAM: "applies to rows written from now on",
    Kind.TABLE: "applies to each key from its next row on; until then its last row stays",
}


def _select(was: Part | None, now: Part | None, kind: Kind) -> Iterator[Difference]:
    part = now or was
    assert part is not None
    same = was is not None and now is not None and was.text == now.text
    if same and was is not None and now is not None:
        if was.types != now.types:
            text = _both(_listed(was.types), _listed(now.types))
            yield Difference(ChangeClass.IN_PLACE, _where(part), text, _LATER[kind])
    elif part.stage:
        yield _difference(was, now, ChangeClass.REBUILD, _REBUILT, instead=_MIXED)
    else:
        yield _difference(was, now, ChangeClass.IN_PLACE, _LATER[kind])


def _rows(was: Part | None, now: Part | None, kind: Kind) -> Iterator[Difference]:
    """Table functions, deserialization and selection of records: as a filter, except for state."""
    if was is not None and now is not None and was.text == now.text:
        return
    part = now or was
    assert part is not None
    if part.clause == _RECORDS and (was is None or now is None):
        return  # another source is read, as FROM or JOIN reports
    if part.stage:
        yield _difference(was, now, ChangeClass.REBUILD, _REBUILT, instead=_MIXED)
    else:
        yield _difference(was, now, ChangeClass.IN_PLACE, _LATER[kind])


_RECORDS = "records of"
_ON_VIOLATION = "ON VIOLATION of"


def _violations(was: Part | None, now: Part | None, kind: Kind) -> Iterator[Difference]:
    if was is not None and now is not None and was.text != now.text:
        effect = "applies to records read from now on"
        yield _difference(was, now, ChangeClass.IN_PLACE, effect)


def _start(was: Part | None, now: Part | None, kind: Kind) -> Iterator[Difference]:
    if (was and was.text) != (now and now.text):
        effect = "a query that has started to read keeps its position"
        yield _difference(was, now, ChangeClass.SETTINGS, effect)


def _kept(was: Part | None, now: Part | None, kind: Kind) -> Iterator[Difference]:
    if was is None or now is None:
        part = now or was
        # Parts that GROUP BY or DISTINCT add or remove.
        if part is not None and part.clause not in ("EMIT", "GRACE PERIOD"):
            yield _difference(was, now, ChangeClass.REBUILD, _REBUILT)
        return
    if was.text != now.text:
        yield _difference(was, now, ChangeClass.REBUILD, _REBUILT)
        return
    yield from _types(was, now)
    yield from _columns(was, now)


def _types(was: Part, now: Part) -> Iterator[Difference]:
    """The state has the same columns, but with other types or names."""
    clause = _where(now)
    if was.types != now.types:
        text = _both(_listed(was.types), _listed(now.types))
        widens = _all_widen(was.types, now.types)
        yield _in_state(clause, text, _WIDENED if widens else None)
    elif was.names != now.names:
        yield _in_state(clause, _both(was.names, now.names), "the state uses this name")


def _in_state(clause: str, text: str, effect: str | None) -> Difference:
    if effect is None:
        return Difference(ChangeClass.REBUILD, clause, text, _REBUILT)
    return Difference(ChangeClass.STATE, clause, text, effect)


def _columns(was: Part, now: Part) -> Iterator[Difference]:
    """Columns of stored rows: a column that was not stored is missing in existing rows."""
    clause = _where(now)
    missing = sorted(now.columns.keys() - was.columns.keys())
    if missing:
        text = f"reads {', '.join(missing)} now, which its stored rows lack"
        yield _in_state(clause, text, None)
    for name, (text, kind) in now.columns.items():
        before, type_before = was.columns.get(name, (text, kind))
        if before != text:
            yield _in_state(clause, f"{name}: {_both(before, text)}", None)
        elif type_before != kind:
            widens = _widens(type_before, kind)
            types = f"{name}: {_both(to_sql(type_before), to_sql(kind))}"
            yield _in_state(clause, types, _WIDENED if widens else None)


_WIDENED = "the values in the state are widened"


def _count(was: Part | None, now: Part | None, kind: Kind) -> Iterator[Difference]:
    """The limit on ROW_NUMBER per group; otherwise a change of the order."""
    numbers = [p.text for p in (was, now) if p is not None]
    if (now or was).name != "count" or len(numbers) < 2:  # type: ignore[union-attr]
        yield from _kept(was, now, kind)
    elif int(numbers[1]) < int(numbers[0]):
        effect = "the state lacks the rows below the old limit"
        yield _difference(was, now, ChangeClass.STATE, effect)
    elif numbers[0] != numbers[1]:
        yield _difference(was, now, ChangeClass.REBUILD, _REBUILT)


def _view(was: Part | None, now: Part | None, kind: Kind) -> Iterator[Difference]:
    """A relation of standard SQL, whose operators are no text for users."""
    if was is None or now is None:
        yield Difference(ChangeClass.REBUILD, "MATERIALIZED VIEW", "another statement", _REBUILT)
    elif was.text != now.text:
        yield Difference(ChangeClass.REBUILD, "query", "changed", _REBUILT)


def _writing(was: Part | None, now: Part | None, kind: Kind) -> Iterator[Difference]:
    if was is not None and now is not None and was.text != now.text:
        effect = "applies to what is written from now on"
        yield _difference(was, now, ChangeClass.IN_PLACE, effect)


def _columns_there(was: Part | None, now: Part | None, kind: Kind) -> Iterator[Difference]:
    """Columns of a table outside Kafka."""
    if was is not None and now is not None and was.text != now.text:
        effect = "renamed in the table, with all of its rows"
        yield _difference(was, now, ChangeClass.IN_PLACE, effect)


def _dropped_there(was: Part | None, now: Part | None, kind: Kind) -> Iterator[Difference]:
    if was is None and now is not None:
        effect = "the table's former snapshots have it until they are removed"
        text = f"{now.text} dropped from the table"
        yield Difference(ChangeClass.IN_PLACE, now.clause, text, effect)


_COMPARISONS: Mapping[str, _Comparison] = {
    "WHERE": _filter,
    "HAVING": _filter,
    "SELECT": _select,
    "table functions": _rows,
    "lookup": _rows,
    _RECORDS: _rows,
    "CONSTRAINT": _rows,
    _ON_VIOLATION: _violations,
    "ROW_NUMBER": _count,
    "WITH": _writing,
    "COLUMNS": _columns_there,
    "DROP_COLUMNS": _dropped_there,
    "view": _view,
}
"""By clause; all other parts are inputs of state."""


# -- aggregates ----------------------------------------------------------------------------------


def _calls(parts: Mapping[tuple[Place, str, str], Part], place: Place) -> dict[str, Part]:
    found = (p for p in parts.values() if p.clause == "aggregates" and p.place == place)
    return {part.text: part for part in found}


def _aggregates(
    was: Mapping[str, Part], now: Mapping[str, Part], place: Place
) -> Iterator[Difference]:
    if not was or not now:
        return  # GROUP BY itself differs
    dropped = [text for text in was if text not in now]
    added = [text for text in now if text not in was]
    clause = _placed("aggregates", place)
    if dropped and added:
        text = _both(", ".join(dropped), ", ".join(added))
        yield Difference(ChangeClass.REBUILD, clause, text, _REBUILT)
    elif dropped:
        effect = "its values are removed from the state"
        text = f"without {', '.join(dropped)}"
        yield Difference(ChangeClass.STATE, clause, text, effect, rewrites=True)
    elif added:
        effect = "the state has no values for the rows read before"
        yield Difference(ChangeClass.STATE, clause, f"{', '.join(added)} added", effect)
    elif list(was) != list(now):
        text, effect = f"in another order: {', '.join(now)}", "the state uses this order"
        yield Difference(ChangeClass.STATE, clause, text, effect, rewrites=True)
    for text in was.keys() & now.keys():
        yield from _types(was[text], now[text])


# -- words ---------------------------------------------------------------------------------------


def _difference(
    was: Part | None,
    now: Part | None,
    change: ChangeClass,
    effect: str,
    instead: str | None = None,
) -> Difference:
    part = now or was
    assert part is not None
    if was is None:
        text = f"{part.text} added"
    elif now is None:
        text = f"{part.text} dropped"
    else:
        text = _both(was.text, now.text)
    return Difference(change, _where(part), text, effect, instead)


def _where(part: Part) -> str:
    named = part.clause in ("SELECT", _RECORDS, "CONSTRAINT", _ON_VIOLATION, "WITH", "COLUMNS")
    clause = f"{part.clause} {part.name}" if named else part.clause
    if part.name in ("ON", "WITHIN", "start"):
        clause = f"{part.clause}, {part.name}"
    return _placed(clause, part.place)


def _placed(clause: str, place: Place) -> str:
    return f"{clause} in {' in '.join(reversed(place))}" if place else clause


def _both(was: str, now: str) -> str:
    return f"{was}, now {now}"


def _listed(types: tuple[SQLType, ...]) -> str:
    return ", ".join(map(to_sql, types)) or "nothing"


def _all_widen(old: tuple[SQLType, ...], new: tuple[SQLType, ...]) -> bool:
    return len(old) == len(new) and all(map(_widens, old, new))


def _widens(old: SQLType, new: SQLType) -> bool:
    """Whether a stored value is the same number in the other type."""
    return old == new or (is_numeric(old) and is_numeric(new) and widens_to(old, new))
