"""FROM: the sources, the operators that read and join them, and the identity of their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streamsql import nodes
from streamsql.catalog import Catalog
from streamsql.errors import CatalogError, InternalError, PlanError
from streamsql.nodes import (
    MatchRecognize,
    Query,
    Relation,
    Side,
    SourceRef,
    Subquery,
    TableFunction,
    ValueRows,
    WindowFunction,
)
from streamsql.planner.joins.joins import (
    build_joins,
    join_scope,
    shared_names,
    viable_columns,
    viable_parts,
)
from streamsql.planner.joins.keys import Identity, JoinKey, JoinKeys, LeftKey, SourceKey
from streamsql.planner.joins.lookups import check_not_read, looked_up_last
from streamsql.planner.joins.scope import JoinScope, joined_name
from streamsql.planner.operators import Derived, Join, JoinKind, Leaf, Named, Operator, Scan
from streamsql.planner.scopes.qualified import qualified_name
from streamsql.planner.scopes.scope import Scope, column_node, folded
from streamsql.planner.select.constraints import bound_constraints
from streamsql.planner.select.values import values_source
from streamsql.planner.select_list.items import Stars, column_items
from streamsql.planner.versions import as_of
from streamsql.schema import Column, FormatSpec, KeyWindow, Kind
from streamsql.types import quote


@dataclass(frozen=True)
class From:
    """Planning input of the clauses after FROM."""

    root: Operator
    scans: tuple[Leaf, ...]
    scope: Scope
    stars: Stars
    identity: Identity

    @property
    def kind(self) -> Kind:
        return self.root.kind

    @property
    def origin(self) -> Leaf:
        """The left-most source: results inherit its format, partitions and windows."""
        return self.scans[0]

    @property
    def key_format(self) -> FormatSpec:
        return self.origin.source.topic.key_format

    @property
    def window(self) -> KeyWindow | None:
        return self.origin.source.topic.window


BuildSubquery = Callable[[Subquery | MatchRecognize], Derived]
"""Plans a query, or the matches of a pattern, in FROM."""


def build_from(
    query: Query,
    catalog: Catalog,
    named: str | None,
    build_subquery: BuildSubquery,
    *,
    persistent: bool,
    bounded: bool = False,
) -> From:
    """FROM of a query whose result is named `named`, or transient (None); `persistent` means that
    the statement's result is stored, `bounded` that the query ends."""
    refs, joins = _flat(query.relation)
    scans = tuple(
        build_subquery(ref)
        if isinstance(ref, Subquery | MatchRecognize)
        else values_source(ref, catalog, bounded=bounded)
        if isinstance(ref, ValueRows)
        else _scan(_plain(ref), catalog)
        for ref in refs
    )
    for scan, ref in zip(scans, refs, strict=True):
        if isinstance(scan, Scan) and (scan is scans[0] or scan.start is not None):
            ends = bounded and scan.start is None
            check_not_read(scan.source, getattr(ref, "span", None), bounded=ends)
    if persistent:
        _check_no_windowed_tables(scans)
    windowed = query.window is not None
    single = Scope(scans[0].alias, scans[0].schema, windowed, catalog.types)
    if not joins:
        return _from_source(scans[0], single, named)
    return _from_joins(scans, joins, single, bounded=bounded)


def check_relation(relation: Relation, catalog: Catalog) -> None:
    for ref in _flat(relation)[0]:
        ref = ref.source if isinstance(ref, WindowFunction | MatchRecognize) else ref
        if isinstance(ref, Subquery):
            check_relation(ref.query.relation, catalog)
        elif isinstance(ref, SourceRef):
            _scan(ref, catalog)


def _flat(relation: Relation) -> tuple[list[Side], list[nodes.Join]]:
    """The sources from left to right, and the joins between them."""
    if not isinstance(relation, nodes.Join):
        return [relation], []
    refs, joins = _flat(relation.left)
    if isinstance(relation.right, nodes.Join):
        raise InternalError("a join on the right side of a join")
    return [*refs, relation.right], [*joins, relation]


def _plain(ref: SourceRef | WindowFunction | TableFunction) -> SourceRef:
    if not isinstance(ref, SourceRef):
        raise InternalError("a function in FROM is not written out")
    return ref


def _scan(ref: SourceRef, catalog: Catalog) -> Scan:
    name = ref.name if ref.name in catalog.sources else folded(ref.name)
    try:
        source = catalog.get(name if name in catalog.sources else ref.name)
    except CatalogError as error:
        error.span = ref.span
        raise
    source = as_of(source, ref.version)
    constraints = bound_constraints(source.expected_of_reads, source, catalog.types)
    return Scan(source, ref.alias or source.name, ref.start, constraints)


def _check_no_windowed_tables(scans: Sequence[Leaf]) -> None:
    if any(
        isinstance(scan, Scan) and scan.kind is Kind.TABLE and scan.source.is_windowed
        for scan in scans
    ):
        raise PlanError(
            "KSQL does not support persistent queries on windowed tables.",
            hint="Select from the stream that the table is derived from.",
        )


def _from_source(scan: Leaf, scope: Scope, named: str | None) -> From:
    bounds = scan.source.is_windowed and named is None
    star = column_items(scope, [column.name for column in _star(scan, bounds=bounds)])
    key = SourceKey(tuple(column_node(c) for c in scan.source.schema.key), scan.alias)
    return From(scan, (scan,), scope, {None: star, scan.alias: star}, key)


def _star(scan: Leaf, *, bounds: bool) -> list[Column]:
    return list(scan.source.shown_with_bounds if bounds else scan.source.shown)


def _from_joins(
    scans: Sequence[Leaf], joins: Sequence[nodes.Join], like: Scope, *, bounded: bool
) -> From:
    for scan in scans:
        if scan.kind is Kind.TABLE and not scan.source.schema.key:
            raise PlanError(
                f"{quote(scan.alias)} cannot be joined: it is a table without its key.",
                hint="Select all columns of the key in the subquery.",
            )
    side = build_joins(scans, joins, like, bounded=bounded)
    root = side.plan
    plan = looked_up_last(root)
    shared = shared_names(joins, scans)
    scope = join_scope(scans, like, root.schema, shared=shared)
    identity: Identity
    if not isinstance(plan, Join):
        identity = SourceKey(tuple(scope.reference(c) for c in plan.schema.key), scans[0].alias)
    elif plan.join_kind is JoinKind.FOREIGN_KEY:
        left = scans[0]
        columns = plan.left.schema.key
        identity = LeftKey(tuple(scope.reference(column) for column in columns), left.alias)
    elif (parts := viable_parts(side)) and all(parts):
        identity = JoinKeys(column_node(plan.schema.key[0]), parts)
    else:
        identity = JoinKey(column_node(plan.schema.key[0]), viable_columns(side))
    made: tuple[Named, ...] = ()
    if isinstance(identity, JoinKey) and identity.synthetic:
        assert isinstance(plan, Join)
        scope = join_scope(scans, like, root.schema, plan.key, shared)
        made = (Named(plan.key, identity.column),)
    stars: dict[str | None, tuple[Named, ...]] = {
        scan.alias: _qualified_star(scan, scope) for scan in scans
    }
    stars[None] = (*made, *(item for scan in scans for item in stars[scan.alias]))
    return From(root, tuple(scans), scope, stars, identity)


def _qualified_star(scan: Leaf, scope: JoinScope) -> tuple[Named, ...]:
    """`source.*` of a joined source: its columns as <alias>_<column>."""
    return joined_items(scope, scan, _star(scan, bounds=scan.source.is_windowed))


def joined_items(scope: Scope, scan: Leaf, columns: Sequence[Column]) -> tuple[Named, ...]:
    """References to columns of a joined source under their names in `*`."""
    names = [qualified_name(scan.alias, column.name) for column in columns]
    return tuple(
        Named(joined_name(scan.alias, column.name), reference.expression)
        for column, reference in zip(columns, column_items(scope, names), strict=True)
    )
