"""Subqueries of expressions: dependent joins of the relation that the expression reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import (
    Aggregate,
    AtMostOne,
    Field,
    Filter,
    JoinKind,
    Project,
    Relation,
    TopRows,
    Values,
)
from streamsql.planner.relational.binder.pending import (
    SUBQUERIES,
    ArrayQuery,
    ComparedQuery,
    ExistsQuery,
    Pending,
    ScalarQuery,
    Subquery,
)
from streamsql.planner.relational.binder.scopes import Bound
from streamsql.planner.relational.dependent import DependentJoin, free
from streamsql.planner.relational.expressions import (
    Ids,
    boolean,
    column,
    compare,
    conjunction,
    conjuncts,
    disjunction,
    is_not_null,
    is_null,
    negation,
    null,
    number,
    operand,
    typed,
)
from streamsql.types import BIGINT, BOOLEAN, array


@dataclass(frozen=True)
class Subqueries:
    """Computes the subqueries of expressions."""

    ids: Ids
    pending: Pending

    def placed(
        self, relation: Relation, expressions: Sequence[Expression]
    ) -> tuple[Relation, list[Expression]]:
        """A relation with the results of the subqueries, and the expressions over it."""
        results: dict[str, Expression] = {}
        for expression in expressions:
            for name, part in self.pending.in_(expression, *SUBQUERIES):
                if name not in results:
                    assert isinstance(part, SUBQUERIES)
                    relation, results[name] = self._value(relation, part)
        return relation, [self.pending.resolved(expression, results) for expression in expressions]

    def filtered(self, relation: Relation, condition: Expression | None) -> Relation:
        """The rows for which the condition is true; EXISTS and IN become SEMI and ANTI joins."""
        rest = []
        for part in conjuncts(condition):
            joined = self._joined(relation, part)
            if joined is None:
                rest.append(part)
            else:
                relation = joined
        if not rest:
            return relation
        relation, rest = self.placed(relation, rest)
        whole = conjunction(rest)
        assert whole is not None
        return Filter(relation, whole)

    # -- conditions ------------------------------------------------------------------------------

    def _joined(self, relation: Relation, part: Expression) -> Relation | None:
        """The condition as a join, where the rows are decided by partners alone."""
        negated = isinstance(part, exp.Not)
        inner = part.this if negated else part
        found = self.pending.parts.get(inner.name) if isinstance(inner, exp.Placeholder) else None
        if isinstance(found, ExistsQuery) and free(found.query.relation):
            kind = JoinKind.ANTI if negated else JoinKind.SEMI
            return DependentJoin(relation, found.query.relation, kind)
        if isinstance(found, ComparedQuery):
            if found.operator is exp.EQ and not found.all:
                return self._in(relation, found, negated)
            if found.operator is exp.NEQ and found.all:
                return self._in(relation, found, not negated)
        return None

    def _in(self, relation: Relation, part: ComparedQuery, negated: bool) -> Relation:
        relation, values = self.placed(relation, part.values)
        equal = conjunction(
            compare(exp.EQ, value, column(field))
            for value, field in zip(values, part.query.fields, strict=True)
        )
        assert equal is not None
        if not negated:
            return DependentJoin(relation, part.query.relation, JoinKind.SEMI, equal)
        if len(values) > 1:
            maybe = typed(exp.Coalesce(this=equal, expressions=[boolean(True)]), BOOLEAN)
            return DependentJoin(relation, part.query.relation, JoinKind.ANTI, maybe)
        without = DependentJoin(relation, part.query.relation, JoinKind.ANTI, equal)
        counted, rows, known = self._counted(part.query)
        certain = conjunction(
            [is_not_null(values[0]), compare(exp.EQ, column(rows), column(known))]
        )
        assert certain is not None
        empty = compare(exp.EQ, column(rows), number(0))
        condition = disjunction([empty, operand(certain)])
        assert condition is not None
        return Filter(DependentJoin(without, counted, JoinKind.INNER), condition)

    def _counted(self, query: Bound) -> tuple[Relation, Field, Field]:
        """The number of a query's rows, and of those that are not null."""
        rows, known = self.ids.field("rows", BIGINT), self.ids.field("known", BIGINT)
        aggregates = (
            (rows, _count()),
            (known, typed(exp.Count(this=column(query.fields[0]), big_int=True), BIGINT)),
        )
        return Aggregate(query.relation, (), aggregates), rows, known

    # -- values ----------------------------------------------------------------------------------

    def _value(self, relation: Relation, part: Subquery) -> tuple[Relation, Expression]:
        match part:
            case ScalarQuery(query):
                scalar = self.ids.like(query.fields[0])
                single = single_row(query.relation)
                single = Project(single, ((scalar, column(query.fields[0])),))
                return DependentJoin(relation, single, JoinKind.LEFT), column(scalar)
            case ArrayQuery(query):
                return self._array(relation, query)
            case ExistsQuery(query):
                rows = self.ids.field("rows", BIGINT)
                counted = Aggregate(query.relation, (), ((rows, _count()),))
                joined = DependentJoin(relation, counted, JoinKind.LEFT)
                return joined, compare(exp.GT, column(rows), number(0))
            case ComparedQuery():
                relation, values = self.placed(relation, part.values)
                return self._compared(relation, values, part)

    def _array(self, relation: Relation, query: Bound) -> tuple[Relation, Expression]:
        item = query.fields[0]
        kind = array(item.type)
        found = self.ids.field("items", kind)
        value: Expression = column(item)
        if query.order:
            value = exp.Order(this=value, expressions=[o.copy() for o in query.order])
        collected = typed(exp.ArrayAgg(this=value), kind)
        joined = DependentJoin(
            relation, Aggregate(query.relation, (), ((found, collected),)), JoinKind.LEFT
        )
        empty = typed(exp.Cast(this=exp.Array(expressions=[]), to=kind.copy()), kind)
        return joined, typed(exp.Coalesce(this=column(found), expressions=[empty]), kind)

    def _compared(
        self, relation: Relation, values: list[Expression], part: ComparedQuery
    ) -> tuple[Relation, Expression]:
        if len(values) > 1:
            return self._rows_compared(relation, values, part)
        if part.operator is exp.EQ and not part.all:
            return self._among(relation, values[0], part.query)
        if part.operator is exp.NEQ and part.all:
            relation, among = self._among(relation, values[0], part.query)
            return relation, negation(among)
        if part.operator is exp.NEQ:
            every = ComparedQuery(part.values, exp.EQ, True, part.query)
            relation, equal = self._compared(relation, values, every)
            return relation, negation(equal)
        return self._bounded(relation, values[0], part)

    def _among(
        self, relation: Relation, value: Expression, query: Bound
    ) -> tuple[Relation, Expression]:
        """`value IN (query)`, with a null where it is not known."""
        item = query.fields[0]
        found = self.ids.field("found", BOOLEAN)
        key = self.ids.like(item)
        each = Aggregate(Project(query.relation, ((key, column(item)),)), (key,))
        marked = Project(each, ((key, column(key)), (found, boolean(True))))
        equal = compare(exp.EQ, value, column(key))
        relation = DependentJoin(relation, marked, JoinKind.LEFT, equal)
        counted, rows, known = self._counted(query)
        relation = DependentJoin(relation, counted, JoinKind.LEFT)
        return relation, _case(
            (is_not_null(column(found)), boolean(True)),
            (_unknown(value, rows, known), null(BOOLEAN)),
            default=boolean(False),
        )

    def _bounded(
        self, relation: Relation, value: Expression, part: ComparedQuery
    ) -> tuple[Relation, Expression]:
        """A comparison with all or any rows is one with the least or the greatest."""
        item = part.query.fields[0]
        least, greatest = self.ids.like(item), self.ids.like(item)
        counted, rows, known = self._counted(part.query)
        assert isinstance(counted, Aggregate)
        ends = (
            (least, typed(exp.Min(this=column(item)), item.type)),
            (greatest, typed(exp.Max(this=column(item)), item.type)),
        )
        counted = Aggregate(counted.input, (), (*counted.aggregates, *ends))
        relation = DependentJoin(relation, counted, JoinKind.LEFT)
        upward = part.operator in (exp.GT, exp.GTE)
        if part.operator is exp.EQ:
            both = [compare(exp.EQ, value, column(end)) for end in (least, greatest)]
            decided = conjunction(both)
            assert decided is not None
        else:
            end = least if upward is not part.all else greatest
            decided = compare(part.operator, value, column(end))
        unknown = _unknown(value, rows, known)
        if part.all:
            return relation, _case(
                (compare(exp.EQ, column(rows), number(0)), boolean(True)),
                (negation(decided), boolean(False)),
                (unknown, null(BOOLEAN)),
                default=boolean(True),
            )
        return relation, _case(
            (decided, boolean(True)), (unknown, null(BOOLEAN)), default=boolean(False)
        )

    def _rows_compared(
        self, relation: Relation, values: list[Expression], part: ComparedQuery
    ) -> tuple[Relation, Expression]:
        """Rows are compared one by one: how many are equal, and of how many it is not known."""
        equal = conjunction(
            compare(exp.EQ, value, column(field))
            for value, field in zip(values, part.query.fields, strict=True)
        )
        assert equal is not None
        alike, open_ = self.ids.field("equal", BIGINT), self.ids.field("unknown", BIGINT)
        counts = ((alike, _count(equal)), (open_, _count(is_null(equal.copy()))))
        counted = Aggregate(part.query.relation, (), counts)
        relation = DependentJoin(relation, counted, JoinKind.LEFT)
        among = _case(
            (compare(exp.GT, column(alike), number(0)), boolean(True)),
            (compare(exp.GT, column(open_), number(0)), null(BOOLEAN)),
            default=boolean(False),
        )
        return relation, negation(among) if part.all else among


def _count(condition: Expression | None = None) -> Expression:
    call = typed(exp.Count(this=exp.Star(), big_int=True), BIGINT)
    if condition is None:
        return call
    return typed(exp.Filter(this=call, expression=exp.Where(this=condition)), BIGINT)


def _unknown(value: Expression, rows: Field, known: Field) -> Expression:
    """Whether a null leaves a comparison with the rows open."""
    among = compare(exp.GT, column(rows), column(known))
    own = conjunction([is_null(value), compare(exp.GT, column(rows), number(0))])
    assert own is not None
    whole = disjunction([among, operand(own)])
    assert whole is not None
    return whole


def _case(*branches: tuple[Expression, Expression], default: Expression) -> Expression:
    ifs = [exp.If(this=condition, true=result) for condition, result in branches]
    return typed(exp.Case(ifs=ifs, default=default), BOOLEAN)


def single_row(relation: Relation) -> Relation:
    """A relation of at most one row; a second one is an error."""
    return relation if has_one_row(relation) else AtMostOne(relation)


def has_one_row(relation: Relation) -> bool:
    """Whether there can be no second row."""
    match relation:
        case Project(input) | Filter(input):
            return has_one_row(input)
        case Aggregate(keys=()):
            return bool(relation.aggregates)
        case TopRows(partition=(), limit=limit):
            return limit is not None and limit <= 1 and not relation.ties
        case Values(rows):
            return len(rows) == 1
    return False
