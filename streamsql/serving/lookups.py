"""The short way for lookups of keys that are asked again and again with other keys.

A statement like SELECT .. FROM t WHERE k = 5 is planned and lowered once, without the comparison of
its key. Of the next one of the same shape only the key is read, out of its text. Whatever is not
that simple takes the usual way.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from streamsql.catalog import Catalog, Source
from streamsql.errors import ExternalError, StreamSQLError
from streamsql.executor.frames.push_rows import push_decoder
from streamsql.nodes import Expression, SelectQuery, Statement
from streamsql.planner.plans.routes import KeyLookup
from streamsql.planner.plans.statements import PullPlan
from streamsql.planner.statements import plan
from streamsql.properties import (
    CONSISTENCY_TOKEN,
    PULL_TABLE_SCAN,
    VIEW_EPOCH,
)
from streamsql.results import Answer, Value
from streamsql.schema import Schema
from streamsql.serving.all_columns import all_columns, picked
from streamsql.serving.compiled import CompiledPlans
from streamsql.serving.consistency import Consistency
from streamsql.serving.current_channel import CurrentChannel
from streamsql.serving.fingerprints import Fingerprint, Literal, fingerprint_of
from streamsql.serving.key_conditions import conjuncts, simple_scan
from streamsql.serving.keys import can_look_up, key_writer, packed, window_bytes
from streamsql.serving.origins import Origins, origins
from streamsql.serving.prepared import PreparedStatements, planned_by
from streamsql.serving.rows import Decoder, answer_rows, result_schema
from streamsql.serving.stores import TableStores
from streamsql.session import Session
from streamsql.types import BIGINT, INT, STRING

if TYPE_CHECKING:
    from streamsql.serving.channel import Channel
    from streamsql.serving.table import Found, KeyLookups, StoredTable

SHAPES = 1_000
ANSWER_SECONDS = 10.0
"""How long a lookup waits for the JVM; an answer takes less than a millisecond."""
_Name = tuple[str, tuple[tuple[str, str], ...]]
"""A shape and the session's properties."""
_Values = tuple[str | int | None, ...]
"""Of the key columns."""
_BITS = {INT: 31, BIGINT: 63}


@dataclass(frozen=True)
class _Parameter:
    """A key column and the literal it is compared with."""

    literal: int
    negative: bool
    bits: int | None
    """Of an integer's type, without its sign; None: the column is a STRING."""

    def value(self, literals: tuple[Literal, ...]) -> str | int | None:
        """Value of the key; None for a number outside of its type."""
        literal = literals[self.literal]
        if self.bits is None:
            return literal.text
        if not literal.written.isdigit():
            return None
        number = -int(literal.written) if self.negative else int(literal.written)
        return number if -(1 << self.bits) <= number < 1 << self.bits else None


@dataclass(frozen=True)
class _Prepared:
    """Statements with the same shape and the same other literals."""

    parameters: tuple[_Parameter, ...]
    """One for each key column."""
    constants: tuple[str, ...]
    plan: PullPlan
    origins: Origins
    source: Source
    schema: Schema
    table: StoredTable
    asked: KeyLookups
    key: Callable[[Sequence[Value]], bytes]
    decode: Decoder


class Lookups:
    """The prepared statements of one engine; may be used from any thread."""

    def __init__(
        self,
        stores: TableStores,
        plans: CompiledPlans,
        consistency: Consistency,
        channel: CurrentChannel,
    ) -> None:
        self._stores = stores
        self._plans = plans
        self._consistency = consistency
        self._channel = channel
        self._prepared: PreparedStatements[_Prepared] = PreparedStatements(SHAPES)

    def find(
        self, sql: str, statement: Statement | None, session: Session, catalog: Catalog
    ) -> Answer | None:
        """The answer, or None where the statement has to take the usual way, or is the first of
        its shape and not given parsed."""
        found = self._understood(sql, session, catalog, statement)
        if found is None or VIEW_EPOCH in session.properties:
            return None
        prepared, values = found
        if not prepared.table.was_complete() or not self._stores.is_alive(prepared.table):
            return None
        self._listen()
        source = prepared.source
        if CONSISTENCY_TOKEN in session.properties:
            self._consistency.wait_stored(source, catalog, session.properties)
        wanted = packed([prepared.key(values)], source, None)
        return _answer(prepared, prepared.asked.get(wanted))

    def find_soon(
        self, sql: str, session: Session, catalog: Catalog
    ) -> Coroutine[object, object, Answer] | None:
        """As `find`, for an event loop: awaits the JVM with a timeout. None also where it would
        block."""
        if not session.properties.keys().isdisjoint((CONSISTENCY_TOKEN, VIEW_EPOCH)):
            return None
        found = self._understood(sql, session, catalog, None)
        if found is None or not found[0].table.complete:
            return None
        channel = self._channel.get()
        return None if channel is None else _ask(channel, *found)

    def _listen(self) -> None:
        """Enables `find_soon` for the next lookup."""
        with suppress(ExternalError):  # the JVM has just ended: this lookup itself says so
            self._channel.listen()

    def rehearse(
        self, sql: str, statement: Statement, session: Session, catalog: Catalog, times: int
    ) -> None:
        """Repeats `find` on a possibly incomplete table, for warm-up."""
        found = self._understood(sql, session, catalog, statement)
        if found is None:
            return  # a key of a type that is not looked up this way
        prepared, values = found
        wanted = packed([prepared.key(values)], prepared.source, None)
        for _ in range(times):
            _answer(prepared, prepared.asked.rehearse(wanted))

    def _understood(
        self, sql: str, session: Session, catalog: Catalog, statement: Statement | None
    ) -> tuple[_Prepared, _Values] | None:
        shape = fingerprint_of(sql)
        if shape is None:
            return None
        self._prepared.adopt(catalog)
        name = (shape.text, planned_by(session.properties))
        known = partial(self._known, statement, shape, session, catalog)
        prepared = known(name)
        if prepared is not None:
            constants = _constants(shape, prepared.parameters)
            if constants != prepared.constants:
                # The others of the shape are found by their constants.
                name = ("\0".join((*constants, shape.text)), name[1])
                prepared = known(name)
        if prepared is None:
            return None
        if not self._stores.is_open(prepared.table):
            self._prepared.discard(name)
            return None
        values = tuple(p.value(shape.literals) for p in prepared.parameters)
        if None in values:
            return None
        return prepared, values

    def _known(
        self,
        statement: Statement | None,
        shape: Fingerprint,
        session: Session,
        catalog: Catalog,
        name: _Name,
    ) -> _Prepared | None:
        if statement is None or name in self._prepared:
            return self._prepared.get(name)
        try:
            prepared = self._prepare(statement, shape, session, catalog)
        except ExternalError:
            return None  # not now; the usual way tells why
        self._prepared.put(name, prepared, catalog)
        return prepared

    # -- preparing -------------------------------------------------------------------------------

    def _prepare(
        self, statement: Statement, shape: Fingerprint, session: Session, catalog: Catalog
    ) -> _Prepared | None:
        try:
            if not isinstance(statement, SelectQuery) or statement.query.emit is not None:
                return None
            if statement.as_of is not None:
                return None  # which asks for an epoch of its own
            asked = plan(statement, catalog, session.properties)
            if not isinstance(asked, PullPlan) or asked.order:
                return None
            return self._prepare_plan(statement, asked, shape, session, catalog)
        except ExternalError:
            raise
        except StreamSQLError:
            return None  # the usual way tells what is wrong with it

    def _prepare_plan(
        self,
        statement: SelectQuery,
        asked: PullPlan,
        shape: Fingerprint,
        session: Session,
        catalog: Catalog,
    ) -> _Prepared | None:
        scan = simple_scan(asked.query.root)
        where = statement.query.where
        if scan is None or where is None or not can_look_up(scan.source):
            return None
        source = scan.source
        if not isinstance(asked.route, KeyLookup) or len(asked.route.keys) != 1:
            return None
        parameters: dict[str, _Parameter] = {}
        rest: list[Expression] = []
        for condition in conjuncts(where):
            found = _parameter(condition, source, shape)
            if found is None or found[0] in parameters:
                # A copy: the statement may have to take the usual way yet.
                rest.append(condition.copy())
            else:
                parameters[found[0]] = found[1]
        if set(parameters) != {c.name for c in source.schema.key}:
            return None
        ordered = tuple(parameters[c.name] for c in source.schema.key)
        if tuple(p.value(shape.literals) for p in ordered) != asked.route.keys[0]:
            return None
        query = replace(statement.query, where=_all_of(rest))
        without_key = plan(
            replace(statement, query=query),
            catalog,
            {**session.properties, PULL_TABLE_SCAN: "true"},
        )
        assert isinstance(without_key, PullPlan)
        made_from = origins(asked, catalog)
        return self._loaded(without_key, made_from, source, ordered, shape, session, catalog)

    def _loaded(
        self,
        plan: PullPlan,
        made_from: Origins,
        source: Source,
        parameters: tuple[_Parameter, ...],
        shape: Fingerprint,
        session: Session,
        catalog: Catalog,
    ) -> _Prepared:
        table = self._stores.get(source)
        schema = result_schema(plan)
        everything = all_columns(source, catalog, session.properties)
        decode = picked(plan, everything)
        program = self._plans.get(plan if decode is None else everything, session.properties)
        lookups = table.lookups(program, window_bytes(source))
        lookups.register()
        return _Prepared(
            parameters,
            _constants(shape, parameters),
            plan,
            made_from,
            source,
            schema,
            table,
            lookups,
            key_writer(source),
            decode or push_decoder(schema),
        )


async def _ask(channel: Channel, prepared: _Prepared, values: _Values) -> Answer:
    from streamsql.serving.table import Found

    wanted = packed([prepared.key(values)], prepared.source, None)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            found = await channel.ask(prepared.asked.number, wanted)
    except TimeoutError:
        raise ExternalError(
            f"the table {prepared.source.name} has not answered within {ANSWER_SECONDS:.0f} "
            "seconds",
            retryable=True,
            hint="The JVM that serves it is busy or has stopped; try again.",
        ) from None
    assert found is not None, "a lookup has an answer or an error"
    return _answer(prepared, Found.of(found))


def _answer(prepared: _Prepared, found: Found) -> Answer:
    rows = list(answer_rows(found.results, prepared.plan, prepared.schema, prepared.decode))
    query_id = f"query_{time.time_ns() // 1_000_000}"
    return Answer(query_id, prepared.plan.schema, rows, epoch=found.epoch)


def _constants(shape: Fingerprint, parameters: tuple[_Parameter, ...]) -> tuple[str, ...]:
    if len(shape.literals) == len(parameters):
        return ()
    variable = {p.literal for p in parameters}
    return tuple(x.written for i, x in enumerate(shape.literals) if i not in variable)


def _all_of(conditions: list[Expression]) -> Expression | None:
    if not conditions:
        return None
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = exp.And(this=whole, expression=condition)
    return whole


def _parameter(
    node: Expression, source: Source, shape: Fingerprint
) -> tuple[str, _Parameter] | None:
    """The key column and the literal of a condition that is a comparison of the two."""
    if not isinstance(node, exp.EQ):
        return None
    column, literal = node.left, node.right
    if isinstance(column, exp.Literal):
        column, literal = literal, column
    if not isinstance(column, exp.Column) or not isinstance(literal, exp.Literal):
        return None
    found = next((c for c in source.schema.key if c.name == column.name), None)
    if found is None or (found.type == STRING) != literal.is_string:
        return None
    if found.type != STRING and found.type not in _BITS:
        return None
    end = literal.meta.get("end")
    at = next((i for i, known in enumerate(shape.literals) if known.end == end), None)
    if at is None:
        return None
    negative = not literal.is_string and str(literal.this).startswith("-")
    return found.name, _Parameter(at, negative, _BITS.get(found.type))
