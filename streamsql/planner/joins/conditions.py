"""ON: equalities between an expression of the joined source and one of the preceding sources, and
further conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from streamsql.errors import PlanError, Span, StreamSQLError, UnsupportedError
from streamsql.ksqldb import Sentence, says
from streamsql.nodes import Expression
from streamsql.planner.joins.scope import JoinScope
from streamsql.planner.operators.combined import combined
from streamsql.planner.plans.rewriting import conjunction
from streamsql.planner.scopes.qualified import qualifier
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.types.binding import aggregates_in, resolve_names, table_functions_in, typed
from streamsql.planner.types.comparisons import OPERATORS
from streamsql.planner.types.inference import require_boolean
from streamsql.types import quote, to_sql, type_of

_CLAUSE = "JOIN ON"


@dataclass(frozen=True)
class Condition:
    """`left` is over the sources joined before, of which it names one, `right` over the new one."""

    left: Expression
    right: Expression
    left_alias: str
    right_alias: str
    flipped: bool
    """Whether the statement has the right side first."""
    span: Span | None
    parts: tuple[Condition, ...] = ()
    """The equalities, where there are several; `left` and `right` then combine their sides."""
    besides: Expression | None = None
    """The other conditions, over the columns of both."""

    @property
    def equalities(self) -> tuple[Condition, ...]:
        return self.parts or (self,)

    @property
    def lefts(self) -> tuple[Expression, ...]:
        return tuple(part.left for part in self.equalities)

    @property
    def rights(self) -> tuple[Expression, ...]:
        return tuple(part.right for part in self.equalities)

    @property
    def text(self) -> str:
        """The condition as written, for messages."""
        if self.parts:
            return " AND ".join(part.text for part in self.parts)
        return " = ".join(expression_text(side) for side in self._written)

    @property
    def typed_text(self) -> str:
        if self.parts:
            return " AND ".join(part.typed_text for part in self.parts)
        return " = ".join(
            f"{expression_text(side)}{{{to_sql(type_of(side))}}}" for side in self._written
        )

    @property
    def _written(self) -> tuple[Expression, Expression]:
        return (self.right, self.left) if self.flipped else (self.left, self.right)


def analyse_condition(on: Expression, scope: JoinScope, joined: str) -> Condition:
    """The condition of the join that adds the source called `joined` to those of the scope."""
    parts: list[Condition] = []
    others: list[Expression] = []
    refused: StreamSQLError | None = None
    for conjunct in _conjuncts(on):
        try:
            parts.append(_analyse(conjunct, scope, joined))
        except (PlanError, UnsupportedError) as error:
            refused = refused or error
            others.append(conjunct)
    if not parts and refused is not None:
        raise refused
    made = _together(parts, span_of(on))
    if not others:
        return made
    typed_others = [_other_condition(other, scope) for other in others]
    return replace(made, besides=conjunction(typed_others))


def _together(parts: Sequence[Condition], span: Span | None) -> Condition:
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    left = combined([part.left for part in parts])
    right = combined([part.right for part in parts])
    aliases = (first.left_alias, first.right_alias)
    return Condition(left, right, *aliases, flipped=False, span=span, parts=tuple(parts))


def _other_condition(other: Expression, scope: JoinScope) -> Expression:
    _check_calls(other)
    bound = typed(resolve_names(other, scope, _CLAUSE), scope, _CLAUSE)
    require_boolean(bound, _CLAUSE)
    return bound


def on_keys(condition: Condition, keys: Sequence[Expression], scope: JoinScope) -> Condition:
    """The condition of a join with a table identified by these keys: equalities with other columns
    are further conditions."""
    chosen = [part for part in condition.parts if part.right in keys]
    if not keys or len(chosen) in (0, len(condition.parts)):
        return condition
    if not all(any(part.right == key for part in chosen) for key in keys):
        return condition
    rest = [typed(_equal(part), scope, _CLAUSE) for part in condition.parts if part not in chosen]
    besides = [] if condition.besides is None else [condition.besides]
    made = _together(chosen, condition.span)
    return replace(made, besides=conjunction([*rest, *besides]))


def _equal(part: Condition) -> Expression:
    node = exp.EQ(this=part.left.copy(), expression=part.right.copy())
    node.meta.update(part.left.meta)
    return node


def _analyse(on: Expression, scope: JoinScope, joined: str) -> Condition:
    equality = _equality(on)
    for column in equality.find_all(exp.Column):
        if column.table:
            scope.check_source(column.table, span_of(column))
    _check_calls(equality)
    sides = [resolve_names(s, scope, _CLAUSE) for s in (equality.this, equality.expression)]
    aliases = [_only_source(side, sides) for side in sides]
    first, second = aliases
    span = span_of(on)
    if first == second:
        raise PlanError(
            "Each side of the join must reference exactly one source and not the same source. "
            f"Left side references `{first}` and right references `{second}`",
            hint=f"One side must be of {joined}, the other of a source before it.",
            span=span,
        )
    if joined not in aliases:
        raise PlanError(
            f"Invalid join condition: no side refers to {joined}, the source that is joined. "
            f"Got {expression_text(sides[0])} = {expression_text(sides[1])}.",
            hint=f"Write {joined}.column = {first}.column.",
            span=span,
            ksqldb=says(
                "joined-source", joined=quote(joined), left=quote(first), right=quote(second)
            ),
        )
    left, right = (typed(side, scope, _CLAUSE) for side in sides)
    if first == joined:
        return Condition(right, left, second, first, flipped=True, span=span)
    return Condition(left, right, first, second, flipped=False, span=span)


def _conjuncts(on: Expression) -> list[Expression]:
    if isinstance(on, exp.Paren):
        return _conjuncts(on.this)
    if isinstance(on, exp.And):
        return [*_conjuncts(on.this), *_conjuncts(on.expression)]
    return [on]


def _equality(on: Expression) -> exp.EQ:
    if isinstance(on, exp.Paren):
        return _equality(on.this)
    if not isinstance(on, exp.EQ):
        raise UnsupportedError(
            f"Only equality join criteria is supported. Got {expression_text(on)}.",
            hint="Join on left = right; other conditions may follow, joined to it by AND.",
            span=span_of(on),
            ksqldb=_ksqldb(on),
        )
    return on


def _ksqldb(on: Expression) -> Sentence | None:
    if type(on) in OPERATORS:
        return None
    if isinstance(on, exp.Or) and all(isinstance(s, exp.EQ) for s in (on.left, on.right)):
        return says("several-conditions", condition=expression_text(on))
    return says("join-condition", condition=expression_text(on))


def _check_calls(condition: Expression) -> None:
    for call in (*aggregates_in(condition), *table_functions_in(condition)):
        raise PlanError(
            f"JOIN ON does not support {call.name}: it is an aggregate or table function.",
            span=span_of(call),
        )


def _only_source(side: Expression, sides: list[Expression]) -> str:
    """The alias of the one source that a side of the condition names."""
    found = {qualifier(column) for column in side.find_all(exp.Column)} - {None}
    if len(found) != 1:
        condition = " = ".join(_shown(s) for s in sides)
        raise PlanError(
            f"Invalid comparison expression '{_shown(side)}' in join '({condition})'. "
            "Each side of the join comparision must contain references from exactly one source.",
            hint="Compare a column of one source with a column of the other source.",
            span=span_of(side) or span_of(sides[0]),
        )
    return str(found.pop())


def _shown(side: Expression) -> str:
    return "null" if isinstance(side, exp.Null) else expression_text(side)
