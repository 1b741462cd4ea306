"""MATCH_RECOGNIZE: a row for each match of a pattern among the rows of a stream."""

from __future__ import annotations

from sqlglot import exp

from streamsql.errors import PlanError, UnsupportedError, did_you_mean
from streamsql.nodes import Expression, MatchRecognize
from streamsql.planner.operators import Condition, Match, Named, Project
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.select.from_clause import From
from streamsql.planner.select.matches.columns import MatchColumns
from streamsql.planner.select.matches.patterns import check_pattern
from streamsql.planner.select.over import is_time
from streamsql.planner.select.shorthand import plain
from streamsql.planner.types.binding import bind
from streamsql.planner.types.inference import require_boolean, unrepeatable_calls
from streamsql.schema import Kind
from streamsql.types import contains_map, quote, type_of


def build_match(match: MatchRecognize, source: From) -> Project:
    """The result of MATCH_RECOGNIZE, keyed by its PARTITION BY; a StreamSQLError for unsupported
    clauses."""
    _check_clauses(match, source)
    keys = _keys(match, source)
    variables = check_pattern(match)
    taken = frozenset(key.name for key in keys)
    read = MatchColumns(source.scope, variables, taken)
    conditions = _conditions(match, variables, read)
    columns = MatchColumns(source.scope, variables, taken)
    measures = tuple(
        Named(measure.alias or "", columns.bind(plain(measure.expression), "MEASURES"))
        for measure in match.measures
    )
    _check_names(match, keys)
    root = Match(
        source.root,
        keys,
        match.pattern,
        conditions,
        tuple(read.made.values()),
        tuple(columns.made.values()),
        match.after,
        None if match.within is None else match.within.ms,
        None if match.grace is None else match.grace.ms,
    )
    own = tuple(Named(key.name, _reference(key)) for key in keys)
    return Project(root, own, measures)


def _reference(key: Named) -> exp.Column:
    column = exp.Column(this=exp.to_identifier(key.name, quoted=True))
    column.type = type_of(key.expression)
    return column


def _check_clauses(match: MatchRecognize, source: From) -> None:
    if source.kind is Kind.TABLE:
        raise UnsupportedError(
            "MATCH_RECOGNIZE requires a stream, and the source is a table, whose rows change",
            hint="The changes of a table are a stream: CREATE STREAM .. WITH (KAFKA_TOPIC='its "
            "topic', ..).",
            span=match.source.span,
        )
    if match.all_rows:
        raise UnsupportedError(
            "ALL ROWS PER MATCH is not supported",
            hint="Write ONE ROW PER MATCH; values of all its rows are COLLECT_LIST(A.x) in "
            "MEASURES.",
            span=match.span,
        )
    if match.subset is not None:
        raise UnsupportedError(
            "SUBSET is not supported",
            hint="A column without a variable before it is of all rows of the match.",
            span=match.span,
        )
    example = "MATCH_RECOGNIZE (PARTITION BY a ORDER BY ROWTIME ..)"
    if not match.order_by:
        raise PlanError(
            "MATCH_RECOGNIZE needs an ORDER BY.", hint=f"Write {example}.", span=match.span
        )
    for ordered in match.order_by:
        bound = bind(ordered.this, source.scope, "ORDER BY")
        if ordered.args.get("desc") or not is_time(bound, source) or len(match.order_by) > 1:
            raise UnsupportedError(
                "MATCH_RECOGNIZE takes the rows in the order of their times only",
                hint=f"Write {example}: ROWTIME, or the column that the stream was declared with, "
                "WITH (TIMESTAMP='t').",
                span=span_of(ordered),
            )
    if match.within is not None and match.within.ms == 0:
        raise PlanError("The time of a match must be more than zero.", span=match.span)


def _keys(match: MatchRecognize, source: From) -> tuple[Named, ...]:
    keys: list[Named] = []
    for key in match.partition_by:
        if not isinstance(key, exp.Column):
            raise UnsupportedError(
                "PARTITION BY of MATCH_RECOGNIZE takes columns only",
                hint="Compute it in a subquery: FROM (SELECT *, .. AS k FROM s) MATCH_RECOGNIZE "
                "(PARTITION BY k ..).",
                span=span_of(key),
            )
        bound = bind(key, source.scope, "PARTITION BY")
        if contains_map(type_of(bound)):
            raise PlanError(
                "PARTITION BY cannot compare values that contain a MAP.", span=span_of(key)
            )
        name = key.name if source.scope.schema.find(key.name) else bound.name
        keys.append(Named(name, bound))
    return tuple(keys)


def _conditions(
    match: MatchRecognize, variables: tuple[str, ...], columns: MatchColumns
) -> tuple[Condition, ...]:
    found: dict[str, Condition] = {}
    for definition in match.definitions:
        if definition.variable not in variables:
            raise PlanError(
                f"{quote(definition.variable)} is defined, but is not a variable of the PATTERN.",
                hint=did_you_mean(definition.variable, variables)
                or f"Its variables are {', '.join(variables)}.",
                span=definition.span,
            )
        if definition.variable in found:
            raise PlanError(f"{quote(definition.variable)} is defined twice.", span=definition.span)
        bound = columns.bind(plain(definition.condition), "DEFINE")
        require_boolean(bound, "DEFINE")
        _check_repeatable(definition.condition)
        found[definition.variable] = Condition(definition.variable, bound)
    return tuple(found.values())


def _check_repeatable(condition: Expression) -> None:
    for call, function in unrepeatable_calls(condition):
        raise UnsupportedError(
            f"{function.name} is not supported in DEFINE: its result must be the same each "
            "time a row is evaluated",
            hint="The time of a row is ROWTIME; compute other values in a subquery.",
            span=span_of(call),
        )


def _check_names(match: MatchRecognize, keys: tuple[Named, ...]) -> None:
    names = [key.name for key in keys] + [measure.alias for measure in match.measures]
    for measure in match.measures:
        if names.count(measure.alias) > 1:
            raise PlanError(
                f"The result has two columns called {quote(measure.alias or '')}.",
                hint="The result includes the columns of PARTITION BY.",
                span=measure.span,
            )
