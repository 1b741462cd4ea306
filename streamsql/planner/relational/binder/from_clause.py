"""FROM: sources, subqueries, functions and joins, with the scope that they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from streamsql import nodes
from streamsql.catalog import Catalog, Source
from streamsql.errors import BindError, PlanError, Span, UnsupportedError, did_you_mean
from streamsql.nodes import Expression, JoinType
from streamsql.planner.relational import functions, intervals, typing
from streamsql.planner.relational.algebra import (
    Field,
    Filter,
    Generate,
    Growth,
    JoinKind,
    Project,
    Relation,
    Scan,
    TemporalJoin,
    TopRows,
    UnionAll,
    Values,
)
from streamsql.planner.relational.binder import gap_fill, time_windows
from streamsql.planner.relational.binder.expressions import Allowed, ExpressionBinder
from streamsql.planner.relational.binder.pending import Pending
from streamsql.planner.relational.binder.scopes import Bound, Entry, Scope
from streamsql.planner.relational.binder.subqueries import Subqueries
from streamsql.planner.relational.dependent import DependentJoin
from streamsql.planner.relational.expressions import (
    Ids,
    column,
    compare,
    conjunction,
    conjuncts,
    ids_in,
    typed,
)
from streamsql.planner.relational.joins import paired
from streamsql.planner.versions import as_of, check_no_version
from streamsql.schema import Kind, WindowType
from streamsql.types import BIGINT, SQLType, element_type, innermost
from streamsql.types import fields as fields_of
from streamsql.values.intervals import Interval

ONE_ROW = Values(((),))


@dataclass(frozen=True)
class FromBinder:
    """Binds the FROM of one SELECT."""

    catalog: Catalog
    ids: Ids
    query: Callable[[nodes.Query, Scope], Bound]

    def bind(self, node: nodes.Relation, outer: Scope, left: Scope) -> tuple[Relation, Scope]:
        """The relation and its scope. Queries see `outer`, those that are LATERAL `left`, which is
        inside of it, too."""
        match node:
            case nodes.Join():
                return self._join(node, outer, left)
            case nodes.SourceRef():
                return self._source(node, outer)
            case nodes.Subquery():
                bound = self.query(node.query, left if node.lateral else outer)
                return bound.relation, _scope(node.alias, bound.fields, node.columns, node.span)
            case nodes.ValueRows():
                return self._values(node, outer)
            case nodes.TableFunction():
                return self._function(node, outer, left)
            case nodes.WindowFunction():
                return self._declared_windows(node, outer, left)
            case nodes.MatchRecognize():
                raise UnsupportedError(
                    "MATCH_RECOGNIZE is not supported in a relational query.",
                    hint="CREATE STREAM .. AS SELECT takes it; a view can read its result.",
                    span=node.span,
                )

    def _expressions(self, scope: Scope, pending: Pending, clause: str) -> ExpressionBinder:
        return ExpressionBinder(scope, pending, self.query, Allowed(clause))

    # -- leaves ----------------------------------------------------------------------------------

    def _source(self, node: nodes.SourceRef, outer: Scope) -> tuple[Relation, Scope]:
        alias = node.alias or node.name
        table = outer.table(node.name)
        if table is not None:
            check_no_version(node.name, node.version)
            relation, fields = self._renamed(table)
            return relation, _scope(alias, fields, node.columns, node.span)
        view = self.catalog.views.get(node.name)
        if view is not None:
            check_no_version(node.name, node.version)
            bound = self.query(view.query, Scope())
            return bound.relation, _scope(alias, bound.fields, node.columns, node.span)
        if node.start is not None:
            raise UnsupportedError(
                "A start position in FROM is not supported in a relational query.", span=node.span
            )
        return self._scan(as_of(self._found(node), node.version), alias, node)

    def _found(self, node: nodes.SourceRef) -> Source:
        source = self.catalog.sources.get(node.name)
        if source is None:
            known = [*self.catalog.sources, *self.catalog.views]
            raise BindError(
                f"relation {node.name} does not exist",
                hint=did_you_mean(node.name, known)
                or "SHOW STREAMS and SHOW TABLES list what exists.",
                span=node.span,
            )
        if source.lookup is not None and not source.is_lake:
            raise UnsupportedError(
                f"{source.name} is a lookup table, which no relational query can read.",
                hint="CREATE STREAM .. AS SELECT can join it; a view can read its result.",
                span=node.span,
            )
        return source

    def _renamed(self, table: Bound) -> tuple[Relation, tuple[Field, ...]]:
        """A query of WITH where it is used: its own relation, with fields of this use."""
        items = tuple((self.ids.like(field), column(field)) for field in table.fields)
        return Project(table.relation, items), tuple(field for field, _ in items)

    def _scan(self, source: Source, alias: str, node: nodes.SourceRef) -> tuple[Relation, Scope]:
        listed = source.shown_with_bounds
        behind = [c for c in (*source.schema, *source.pseudo_columns) if c not in listed]
        shown = [(c.name, self.ids.field(c.name, c.type)) for c in listed]
        hidden = [(c.name, self.ids.field(c.name, c.type)) for c in behind]
        table = source.kind is Kind.TABLE
        names = {column_.name for column_ in source.primary_key}
        key = tuple(field for name, field in (*shown, *hidden) if name in names)
        scan = Scan(
            source.name,
            (*shown, *hidden),
            # The records of a view may be there twice, those of a plain table are not.
            Growth.APPENDED if source.grows and not source.is_view else Growth.REPLACED,
            # Of a table of Iceberg, no index keeps the key unique.
            key if table and not source.is_lake else (),
            node.version,
        )
        columns = _named(alias, tuple(shown), node.columns, node.span)
        return scan, Scope((Entry(alias, columns, tuple(hidden)),))

    def _values(self, node: nodes.ValueRows, outer: Scope) -> tuple[Relation, Scope]:
        pending = Pending()
        binder = self._expressions(outer, pending, "VALUES")
        width = len(node.rows[0])
        if any(len(row) != width for row in node.rows):
            raise PlanError("VALUES lists must all be the same length", span=node.span)
        rows = [binder.bind_all(row) for row in node.rows]
        if not width:
            return ONE_ROW, Scope()
        columns = []
        for number in range(width):
            values, kind = typing.alike([row[number] for row in rows], "VALUES")
            for row, value in zip(rows, values, strict=True):
                row[number] = value
            columns.append(self.ids.field(f"COLUMN{number + 1}", kind))
        relation: Relation = Values(tuple(tuple(row) for row in rows), tuple(columns))
        if pending.parts:
            relation = self._computed(rows, columns, pending)
        return relation, _scope(node.alias, tuple(columns), node.columns, node.span)

    def _computed(
        self, rows: Sequence[Sequence[Expression]], columns: Sequence[Field], pending: Pending
    ) -> Relation:
        """Rows with subqueries."""
        branches = []
        for row in rows:
            relation, values = Subqueries(self.ids, pending).placed(ONE_ROW, row)
            fields = [self.ids.like(field) for field in columns]
            branches.append(Project(relation, tuple(zip(fields, values, strict=True))))
        return UnionAll(tuple(branches), tuple(columns))

    def _windows(
        self, node: nodes.TableFunction, outer: Scope, left: Scope
    ) -> tuple[Relation, Scope]:
        """`TUMBLE(relation, time, size)` and `HOP(relation, time, advance, size)`."""
        named = _relation_of(node)
        relation, scope = self.bind(named, outer, left)
        binder = self._expressions(replace(scope, parent=outer), Pending(), "FROM")
        bound = binder.bind_all(node.call.expressions[1:])
        windows = time_windows.written(node.call, bound, node.span)
        return self._windowed(relation, scope, windows, node.alias or named.name, node)

    def _declared_windows(
        self, node: nodes.WindowFunction, outer: Scope, left: Scope
    ) -> tuple[Relation, Scope]:
        """`TUMBLE(TABLE source, DESCRIPTOR(time), size)` and `HOP`."""
        window = node.window
        if node.time is None or window.type not in (WindowType.TUMBLING, WindowType.HOPPING):
            raise UnsupportedError(
                "Only windows of TUMBLE and HOP by a column are supported in a relational query.",
                span=node.span,
            )
        relation, scope = self.bind(node.source, outer, left)
        binder = self._expressions(replace(scope, parent=outer), Pending(), "FROM")
        written = exp.Column(this=exp.to_identifier(node.time, quoted=True))
        time = time_windows.time_column(binder.bind(written), node.span)
        advance = None if window.advance is None else _of_ms(window.advance.ms)
        windows = time_windows.TimeWindows(time, _of_ms(window.size.ms), advance)
        alias = node.alias or node.source.alias or getattr(node.source, "name", None)
        return self._windowed(relation, scope, windows, alias, node)

    def _windowed(
        self,
        relation: Relation,
        scope: Scope,
        windows: time_windows.TimeWindows,
        alias: str | None,
        node: nodes.TableFunction | nodes.WindowFunction,
    ) -> tuple[Relation, Scope]:
        relation, bounds = windows.of(relation, self.ids)
        fields = [replace(field, name=name) for name, field in scope.every()]
        names = node.columns if isinstance(node, nodes.TableFunction) else ()
        return relation, _scope(alias, [*fields, *bounds], names, node.span)

    def _gap_fill(
        self, node: nodes.TableFunction, outer: Scope, left: Scope
    ) -> tuple[Relation, Scope]:
        named = _relation_of(node)
        _, scope = self.bind(named, outer, left)
        columns = [(name, field.type) for name, field in scope.every()]
        binder = self._expressions(outer, Pending(), "FROM")
        bound = self.query(gap_fill.query_of(node.call, columns, binder.bind), outer)
        alias = node.alias or named.name
        return bound.relation, _scope(alias, bound.fields, node.columns, node.span)

    def _function(
        self, node: nodes.TableFunction, outer: Scope, left: Scope
    ) -> tuple[Relation, Scope]:
        name = node.call.name
        if name.upper() in time_windows.NAMES:
            return self._windows(node, outer, left)
        if name.upper() == gap_fill.NAME:
            return self._gap_fill(node, outer, left)
        if name.upper() not in functions.TABLE_FUNCTIONS:
            return self._one_value(node, left)
        call = self._expressions(left, Pending(), "FROM").table_function(node.call)
        shown = node.alias or name
        fields = tuple(
            self.ids.field(n, kind) for n, kind in self._columns(name.upper(), shown, call)
        )
        ordinality = self.ids.field("ORDINALITY", BIGINT) if node.ordinality else None
        relation = Generate(ONE_ROW, call, fields, ordinality=ordinality)
        every = (*fields, ordinality) if ordinality else fields
        scope = _scope(shown, every, node.columns, node.span)
        if name.upper() in functions.JSON_ELEMENTS:
            scope = replace(scope, entries=(replace(scope.entries[0], scalar=True),))
        return relation, scope

    @staticmethod
    def _columns(name: str, alias: str, call: Expression) -> list[tuple[str, SQLType]]:
        """The names and types of a table function's columns."""
        if name in functions.JSON_ENTRIES:
            return fields_of(typing.kind_of(call))
        kinds = _types(call)
        if name in functions.JSON_ELEMENTS:
            return [("VALUE", kinds[0])]
        return [(alias if len(kinds) == 1 else name, kind) for kind in kinds]

    def _one_value(self, node: nodes.TableFunction, left: Scope) -> tuple[Relation, Scope]:
        """A function that has one value, as a relation of one row."""
        pending = Pending()
        value = self._expressions(left, pending, "FROM").bind(node.call)
        relation, values = Subqueries(self.ids, pending).placed(ONE_ROW, [value])
        alias = node.alias or node.call.name
        field = self.ids.field(alias, typing.kind_of(value))
        return Project(relation, ((field, values[0]),)), _scope(
            alias, [field], node.columns, node.span
        )

    # -- joins -----------------------------------------------------------------------------------

    def _join(self, node: nodes.Join, outer: Scope, left: Scope) -> tuple[Relation, Scope]:
        if node.within is not None and not node.within.implied:
            raise PlanError(
                "WITHIN belongs to joins of streams and has no meaning in a relational query",
                hint="Compare the times in ON.",
                span=node.span,
            )
        first, first_scope = self.bind(node.left, outer, left)
        seen = replace(first_scope, parent=left)
        versioned = _of_the_moment(node)
        right = replace(versioned, version=None) if versioned else node.right
        second, second_scope = self.bind(right, outer, seen)
        if versioned:
            _check_temporal(node)
            self._check_is_table(versioned, second)
        both = first_scope.beside(second_scope)
        _check_aliases(both, node.span)
        if node.natural or node.using:
            return self._shared(node, first, second, first_scope, second_scope)
        pending = Pending()
        condition = None
        if node.on is not None:
            inside = replace(both, parent=outer)
            condition = self._expressions(inside, pending, "JOIN/ON").condition(node.on)
        if node.asof and condition is not None:
            return _closest(node, first, second, condition), both
        if node.type in (JoinType.SEMI, JoinType.ANTI):
            return self._joined(node, first, second, condition, pending), first_scope
        return self._joined(node, first, second, condition, pending), both

    def _check_is_table(self, ref: nodes.SourceRef, right: Relation) -> None:
        scanned = isinstance(right, Scan) and self.catalog.get(right.source).kind is Kind.TABLE
        if not scanned:
            raise UnsupportedError(
                f"{ref.name} has no rows of a moment: FOR SYSTEM_TIME AS OF PROCTIME() is for "
                "tables and materialized views.",
                hint="CREATE MATERIALIZED VIEW makes one of a query.",
                span=ref.span,
            )

    def _joined(
        self,
        node: nodes.Join,
        left: Relation,
        right: Relation,
        condition: Expression | None,
        pending: Pending,
    ) -> Relation:
        kind = node.type
        if _of_the_moment(node):
            if pending.parts:
                raise UnsupportedError(
                    "A subquery in the ON of a temporal join is not supported.",
                    hint="Join with it in a view that the temporal join reads.",
                    span=node.span,
                )
            return paired(TemporalJoin, left, right, _KINDS[kind], condition)
        if kind is JoinType.RIGHT:
            left, right, kind = right, left, JoinType.LEFT
        if pending.parts:
            if kind is JoinType.FULL:
                raise UnsupportedError(
                    "A subquery in the ON of a FULL JOIN is not supported.",
                    hint="Compute it in FROM.",
                )
            # The condition is one of the right side's rows, which then depend on the left one's.
            right = Subqueries(self.ids, pending).filtered(right, condition)
            condition = None
        return DependentJoin(left, right, _KINDS[kind], condition)

    def _shared(
        self,
        node: nodes.Join,
        left: Relation,
        right: Relation,
        a: Scope,
        b: Scope,
    ) -> tuple[Relation, Scope]:
        """USING and NATURAL: the sides' columns of one name become one."""
        names = node.using or tuple(
            name for name, _ in a.every() if any(name == other for other, _ in b.every())
        )
        names = tuple(dict.fromkeys(names))
        pairs = [(self._side(name, a, node), self._side(name, b, node)) for name in names]
        equal = []
        for first, second in pairs:
            one, other = typing.comparable(column(first), column(second), "=")
            equal.append(compare(exp.EQ, one, other))
        kind = node.type
        relation = self._joined(node, left, right, conjunction(equal), Pending())
        if kind in (JoinType.SEMI, JoinType.ANTI):
            return relation, a
        common: list[tuple[str, Field]] = []
        if kind is JoinType.FULL:
            added = []
            for name, (first, second) in zip(names, pairs, strict=True):
                values, type_ = typing.alike([column(first), column(second)], "USING")
                merged = self.ids.field(name, type_)
                whole = typed(exp.Coalesce(this=values[0], expressions=[values[1]]), type_)
                added.append((merged, whole))
                common.append((name, merged))
            kept = tuple((field, column(field)) for field in relation.fields)
            relation = Project(relation, (*kept, *added))
        else:
            side = 1 if kind is JoinType.RIGHT else 0
            common = [(name, pair[side]) for name, pair in zip(names, pairs, strict=True)]
        hidden = frozenset(names)
        entries = tuple(
            replace(entry, merged=entry.merged | hidden) for entry in (*a.entries, *b.entries)
        )
        rest = [item for item in (*a.common, *b.common) if item[0] not in hidden]
        return relation, Scope(entries, (*common, *rest))

    def _side(self, name: str, scope: Scope, node: nodes.Join) -> Field:
        found = scope.local(name)
        if not found:
            raise BindError(
                f"column {name} specified in USING does not exist on both sides",
                hint=did_you_mean(name, (known for known, _ in scope.every())),
                span=node.span,
            )
        if len(found) > 1:
            raise BindError(f"common column {name} is ambiguous", span=node.span)
        return found[0]


def _of_the_moment(node: nodes.Join) -> nodes.SourceRef | None:
    """The right side, where it is read `FOR SYSTEM_TIME AS OF PROCTIME()`: of a temporal join."""
    right = node.right
    if isinstance(right, nodes.SourceRef) and right.version is not None and right.version.now:
        return right
    return None


def _check_temporal(node: nodes.Join) -> None:
    if node.type not in (JoinType.INNER, JoinType.LEFT) or node.asof:
        raise UnsupportedError(
            f"{'ASOF' if node.asof else node.type.value} JOIN with FOR SYSTEM_TIME AS OF "
            "PROCTIME() is not supported.",
            hint="A temporal join is an INNER or a LEFT JOIN, and its right side a table.",
            span=node.span,
        )


def _closest(node: nodes.Join, left: Relation, right: Relation, condition: Expression) -> Relation:
    """ASOF: each left row with the right row that is closest by the inequality."""
    if node.type not in (JoinType.INNER, JoinType.LEFT):
        raise UnsupportedError(
            f"ASOF {node.type.value} JOIN is not supported.",
            hint="Exchange the sides, or write ASOF LEFT JOIN.",
            span=node.span,
        )
    parts = conjuncts(condition)
    found = [part for part in parts if isinstance(part, exp.GT | exp.GTE | exp.LT | exp.LTE)]
    others = sum(isinstance(part, exp.EQ | exp.NullSafeEQ) for part in parts)
    if len(found) != 1 or others != len(parts) - 1:
        raise PlanError(
            "ASOF JOIN requires one inequality in ON, and equalities",
            hint="For example ON t.symbol = p.symbol AND t.at >= p.at.",
            span=node.span,
        )
    own = {field.id for field in right.fields}
    sides = [set(ids_in(found[0].this)), set(ids_in(found[0].expression))]
    if [bool(side & own) for side in sides] not in ([True, False], [False, True]):
        raise PlanError("the inequality of ASOF JOIN compares the two sides", span=node.span)
    behind = bool(sides[0] & own)
    # The right side is below the left one: its greatest row is the closest.
    greatest = isinstance(found[0], exp.LT | exp.LTE) == behind
    by = found[0].this if behind else found[0].expression
    order = exp.Ordered(this=by.copy(), desc=greatest, nulls_first=False)
    closest = TopRows(Filter(right, condition), (), (order,), 1)
    return DependentJoin(left, closest, _KINDS[node.type], None)


_KINDS = {
    JoinType.INNER: JoinKind.INNER,
    JoinType.CROSS: JoinKind.INNER,
    JoinType.LEFT: JoinKind.LEFT,
    JoinType.FULL: JoinKind.FULL,
    JoinType.SEMI: JoinKind.SEMI,
    JoinType.ANTI: JoinKind.ANTI,
}


def _relation_of(node: nodes.TableFunction) -> nodes.SourceRef:
    """The relation that a function takes first."""
    named = next(iter(node.call.expressions), None)
    if not isinstance(named, exp.Column):
        raise PlanError(f"{node.call.name} takes a relation first", span=node.span)
    return nodes.SourceRef(named.name, span=node.span)


def _types(call: Expression) -> list[SQLType]:
    if isinstance(call, exp.Unnest) and not call.args.get("explode_array"):
        return [innermost(element_type(typing.kind_of(item))) for item in call.expressions]
    return [typing.kind_of(call)]


def _of_ms(amount: int) -> Expression:
    return intervals.length(Interval(micros=amount * 1000))


def _scope(
    alias: str | None, fields: Sequence[Field], names: tuple[str, ...], span: Span | None
) -> Scope:
    columns = tuple((field.name, field) for field in fields)
    return Scope((Entry(alias, _named(alias, columns, names, span)),))


def _named(
    alias: str | None,
    columns: tuple[tuple[str, Field], ...],
    names: tuple[str, ...],
    span: Span | None,
) -> tuple[tuple[str, Field], ...]:
    """The columns under the names that follow the alias."""
    if len(names) > len(columns):
        raise BindError(
            f"table {alias} has {len(columns)} columns available but {len(names)} are named",
            span=span,
        )
    given = tuple(
        (name, replace(field, name=name)) for name, (_, field) in zip(names, columns, strict=False)
    )
    return given + columns[len(names) :]


def _check_aliases(scope: Scope, span: Span | None) -> None:
    seen: set[str] = set()
    for entry in scope.entries:
        if entry.alias is not None and entry.alias in seen:
            raise BindError(
                f"table name {entry.alias} specified more than once",
                hint="Give one of them another alias.",
                span=span,
            )
        seen.add(entry.alias or "")
