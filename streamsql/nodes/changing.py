"""Statements that change the rows of plain tables, and wait for what follows from them."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.nodes.base import Effect, Statement
from streamsql.nodes.query import Expression, Relation, SelectItem


@dataclass(frozen=True)
class Update(Statement):
    """UPDATE name [alias] SET column = expression, .. [FROM ..] [WHERE ..] [RETURNING ..]."""

    effect = Effect.WRITES

    target: str
    assignments: tuple[tuple[str, Expression], ...]
    where: Expression | None = None
    alias: str | None = None
    returning: tuple[SelectItem, ...] = ()
    relation: Relation | None = None
    """Of FROM: what the rows are joined with."""


@dataclass(frozen=True)
class Delete(Statement):
    """DELETE FROM name [alias] [WHERE ..] [RETURNING ..]."""

    effect = Effect.WRITES

    target: str
    where: Expression | None = None
    alias: str | None = None
    returning: tuple[SelectItem, ...] = ()


@dataclass(frozen=True)
class Truncate(Statement):
    """TRUNCATE [TABLE] name."""

    effect = Effect.WRITES

    target: str


@dataclass(frozen=True)
class Flush(Statement):
    """FLUSH: waits until every query has processed what was written before."""

    effect = Effect.READS
