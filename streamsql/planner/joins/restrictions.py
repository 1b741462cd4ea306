"""Which joins are allowed: kinds, types, WITHIN, keys, windows and partitions of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamsql.errors import PlanError, UnsupportedError
from streamsql.formats import format_named
from streamsql.ksqldb import says
from streamsql.nodes import Expression, Join, JoinType
from streamsql.planner.joins.conditions import Condition
from streamsql.planner.operators import JoinKind, Leaf, Operator, Scan, operators
from streamsql.planner.operators.combined import combined
from streamsql.planner.types.inference import coerce
from streamsql.schema import KeyWindow, Kind
from streamsql.types import common_type, is_numeric, quote, type_of, widens_to

_SHOWN = {
    JoinType.INNER: "[INNER] JOIN",
    JoinType.LEFT: "LEFT [OUTER] JOIN",
    JoinType.RIGHT: "RIGHT [OUTER] JOIN",
    JoinType.FULL: "[FULL] OUTER JOIN",
}
_NOT_FOR_STREAM_TABLE = {JoinType.RIGHT: "right-outer", JoinType.FULL: "full-outer"}


@dataclass(frozen=True)
class Side:
    """One input of a join: a source, or the result of earlier joins."""

    plan: Operator
    scans: tuple[Leaf, ...]
    key: Expression | None
    """The key column; None for none or several."""
    equals: tuple[Expression, ...]
    """The key and all expressions known to be equal to it."""
    keys: tuple[Expression, ...] = ()
    """The key columns of a source."""

    def is_key(self, expressions: tuple[Expression, ...]) -> bool:
        """Whether they identify the rows, in any order."""
        if combined(expressions) in self.equals:
            return True
        return len(expressions) == len(self.keys) and all(key in expressions for key in self.keys)

    @property
    def kind(self) -> Kind:
        return self.plan.kind

    @property
    def window(self) -> KeyWindow | None:
        return self.scans[0].source.topic.window

    def scan(self, alias: str) -> Leaf:
        return next(scan for scan in self.scans if scan.alias == alias)


def join_kind(
    left: Side, right: Side, join: Join, condition: Condition, *, bounded: bool
) -> JoinKind:
    _check_formats(left, right, join)
    if bounded and _joins_rows(left, right, join, condition):
        _check_windows(left, right, condition)
        return JoinKind.ROWS
    if left.kind is Kind.STREAM and right.kind is Kind.STREAM:
        _check_windows(left, right, condition)
        return JoinKind.STREAM_STREAM
    if left.kind is Kind.STREAM:
        _check_stream_table(right, join, condition)
        _check_windows(left, right, condition)
        return JoinKind.STREAM_TABLE
    if right.kind is Kind.STREAM:
        raise PlanError(
            "Invalid join order: table-stream joins are not supported; only stream-table joins. "
            f"Got {_got(join, condition)}.",
            hint=f"Write FROM {condition.right_alias} JOIN {condition.left_alias}.",
            span=join.span,
        )
    return _table_table(left, right, join, condition)


def _joins_rows(left: Side, right: Side, join: Join, condition: Condition) -> bool:
    """Whether all rows of both sides are compared in a query that ends: VALUES, streams without
    WITHIN, and tables with further conditions."""
    if join.within is not None:
        return False
    if left.kind is Kind.STREAM and right.kind is Kind.STREAM:
        return True
    if left.kind is Kind.TABLE and right.kind is Kind.TABLE:
        return join.type is JoinType.FULL and condition.besides is not None
    return not all(_reads_topics(side) for side in (left, right))


def _reads_topics(side: Side) -> bool:
    return any(isinstance(operator, Scan) for operator in operators(side.plan))


def _table_table(left: Side, right: Side, join: Join, condition: Condition) -> JoinKind:
    _check_no_within(join, "Table-Table")
    if not right.is_key(condition.rights):
        raise PlanError(
            "Invalid join condition: table-table joins require to join on the primary key of the "
            f"right input table. Got {condition.text}.",
            hint=_swapped(left, condition) or _key_hint(right),
            span=condition.span,
        )
    if left.is_key(condition.lefts):
        _check_windows(left, right, condition)
        return JoinKind.TABLE_TABLE
    _check_foreign_key(left, right, join, condition)
    return JoinKind.FOREIGN_KEY


def _check_foreign_key(left: Side, right: Side, join: Join, condition: Condition) -> None:
    if left.window or right.window:
        raise UnsupportedError(
            "Foreign-key table-table joins are not supported on windowed tables.",
            span=join.span,
        )
    if len(left.scans) > 1:
        raise UnsupportedError(
            "Invalid join condition: foreign-key table-table joins are not supported as part of "
            f"n-way joins. Got {condition.text}.",
            hint="Make a table of the joins before it, and join that.",
            span=condition.span,
        )
    if join.type in (JoinType.RIGHT, JoinType.FULL):
        raise PlanError(
            f"Invalid join type: {join.type.value} JOIN on a foreign key is not supported. "
            f"Got {_got(join, condition)}.",
            detail="The rows of a foreign-key join are those of the left table.",
            hint=f"Use INNER or LEFT JOIN, or join on the primary key of {condition.left_alias}.",
            span=join.span,
        )


def _check_stream_table(right: Side, join: Join, condition: Condition) -> None:
    if join.type in _NOT_FOR_STREAM_TABLE:
        raise PlanError(
            f"Invalid join type: {_NOT_FOR_STREAM_TABLE[join.type]} join not supported for "
            f"stream-table join. Got {_got(join, condition)}.",
            detail="The stream's records produce the results; the table's rows do not.",
            hint="Use INNER or LEFT JOIN.",
            span=join.span,
        )
    _check_no_within(join, "Stream-Table")
    if not right.is_key(condition.rights):
        raise PlanError(
            "Invalid join condition: stream-table joins require to join on the table's primary "
            f"key. Got {condition.text}.",
            hint=_key_hint(right),
            span=condition.span,
        )


def _swapped(left: Side, condition: Condition) -> str | None:
    """The equivalent of a foreign-key join with swapped tables."""
    if len(left.scans) > 1 or condition.left not in left.equals:
        return None
    return f"Write FROM {condition.right_alias} JOIN {condition.left_alias}: a foreign key is left."


def _key_hint(right: Side) -> str:
    source = right.scans[0].source
    names = " and ".join(column.name for column in source.schema.key)
    if right.key is None:
        return f"The keys of {source.name} are {names}: join on all of them, by AND."
    return f"The primary key of {source.name} is {names}."


# -- WITHIN --------------------------------------------------------------------------------------


def _check_no_within(join: Join, pair: str) -> None:
    if join.within is not None and not join.within.implied:
        raise PlanError(
            f"A window definition was provided for a {pair} join. These joins are not windowed.",
            hint="Drop the WITHIN clause.",
            span=join.span,
        )


# -- keys, windows, partitions -------------------------------------------------------------------


def matched(
    left: Side, right: Side, kind: JoinKind, condition: Condition
) -> tuple[Expression, Expression]:
    """Both sides of the condition in one type: a stream's side may be widened."""
    parts = list(condition.equalities)
    if right.kind is Kind.TABLE:
        parts.sort(key=lambda part: _place(part, right))
    pairs = [matched_pair(kind, part) for part in parts]
    return combined([pair[0] for pair in pairs]), combined([pair[1] for pair in pairs])


def _place(part: Condition, right: Side) -> int:
    return right.keys.index(part.right) if part.right in right.keys else 0


def matched_pair(kind: JoinKind, condition: Condition) -> tuple[Expression, Expression]:
    a, b = type_of(condition.left), type_of(condition.right)
    if a == b:
        return condition.left, condition.right
    wider = common_type(a, b) if is_numeric(a) and is_numeric(b) else None
    if kind is JoinKind.STREAM_TABLE:
        wider = b if wider is not None and widens_to(a, b) else None
    elif kind not in (JoinKind.STREAM_STREAM, JoinKind.ROWS):
        wider = None
    if wider is None:
        raise PlanError(
            f"Invalid join condition: types don't match. Got {condition.typed_text}.",
            hint="CAST one side to the type of the other.",
            span=condition.span,
        )
    return coerce(condition.left, wider), coerce(condition.right, wider)


def _check_formats(left: Side, right: Side, join: Join) -> None:
    scans = [s for s in (*left.scans, *right.scans) if not _regroups(s)]
    if scans:
        names = ", ".join(quote(s.source.name) for s in scans)
        name = scans[0].source.topic.value_format.name
        raise PlanError(
            f"Source(s) {names} are using the '{name}' value format. "
            "This format does not yet support JOIN.",
            hint="Copy the source into another format first: "
            "CREATE STREAM X WITH (VALUE_FORMAT='JSON') AS SELECT ..",
            span=join.span,
        )


def _regroups(scan: Leaf) -> bool:
    # The lookup result of a row is in no topic.
    looked_up = scan.source.lookup is not None
    return looked_up or format_named(scan.source.topic.value_format.name).regroups


def _check_windows(left: Side, right: Side, condition: Condition) -> None:
    """Windowed keys are equal if their windows are, so both or none must be windowed."""
    a, b = left.window, right.window
    if a is None and b is None:
        return
    names = (condition.left_alias, condition.right_alias)
    if a is None or b is None:
        raise PlanError(
            "Can not join windowed source to non-windowed source.",
            detail="\n".join(
                f"{quote(name)} is {'not' if w is None else w.type.value} windowed"
                for name, w in zip(names, (a, b), strict=True)
            ),
            span=condition.span,
        )
    if a.type is not b.type and (a.has_end or b.has_end):
        raise PlanError(
            f"Can not join sources of different windows: {quote(names[0])} has {a.type.value} "
            f"windows, {quote(names[1])} {b.type.value} windows.",
            hint="Sessions join sessions, cumulating windows cumulating ones; hopping and tumbling "
            "windows join each other.",
            span=condition.span,
            ksqldb=says("join-windows", left=a.type.value, right=b.type.value),
        )
    kept = condition.left in left.equals and condition.right in right.equals
    if not kept or a.size_ms != b.size_ms:
        raise PlanError(
            "Implicit repartitioning of windowed sources is not supported.",
            detail="Windowed sources are joined on their keys, and must have windows of the same "
            "size.",
            span=condition.span,
            ksqldb=says("windowed-repartition"),
        )


def check_partitions(left: Side, right: Side, condition: Condition) -> None:
    """PlanError if both counts are known and differ, as in ksqlDB, which supports one equality."""
    if condition.parts:
        return
    scans = left.scan(condition.left_alias), right.scan(condition.right_alias)
    # The rows of a subquery are shuffled by key, whatever their source's partitions.
    counts = [s.source.topic.partitions if isinstance(s, Scan) else None for s in scans]
    if None in counts or counts[0] == counts[1]:
        return
    a, b = (quote(scan.alias) for scan in scans)
    raise PlanError(
        f"Can't join {a} with {b} since the number of partitions don't match. "
        f"{a} partitions = {counts[0]}; {b} partitions = {counts[1]}. Please repartition either "
        "one so that the number of partitions match.",
        hint="CREATE STREAM | TABLE X WITH (PARTITIONS=n) AS SELECT .. copies a source.",
        span=condition.span,
    )


def check_sources(scans: Sequence[Leaf], joins: Sequence[Join]) -> None:
    for index, (join, scan) in enumerate(zip(joins, scans[1:], strict=True), start=1):
        before = scans[:index]
        if any(s.alias == scan.alias for s in before):
            name = scan.source.name if isinstance(scan, Scan) else scan.alias
            raise PlanError(
                f"two sources of the query are called {quote(scan.alias)}",
                hint="Use another alias for one of them.",
                span=join.span,
                ksqldb=says("self-join" if len(scans) == 2 else "source-joined-twice", source=name),
            )


def _got(join: Join, condition: Condition) -> str:
    return f"{condition.left_alias} {_SHOWN[join.type]} {condition.right_alias}"
