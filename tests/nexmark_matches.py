"""What the queries of Nexmark's CEP suite give, by backtracking over the same events: the columns
that are compared, and their rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from match_reference import Condition, Matching, Partial

from streamsql import nodes as n

_HIGH = 10_000
_DROP = 50


@dataclass(frozen=True)
class Query:
    """One of them: its columns as SQL has them, and their values of a match."""

    columns: str
    parts: tuple[str, ...]
    """Variables of the pattern, each perhaps with a quantifier."""
    conditions: Mapping[str, Condition]
    after: n.AfterMatch
    values: Callable[[Partial], tuple[Any, ...]]
    within: int | None = None

    @property
    def pattern(self) -> n.Pattern:
        """The pattern."""
        return n.PatternSequence(tuple(map(_part, self.parts)))


def _part(text: str) -> n.Pattern:
    variable = n.PatternVariable(text.rstrip("+*"))
    least = {"+": 1, "*": 0}.get(text[-1])
    return variable if least is None else n.PatternRepeat(variable, least, None)


def _falls(match: Partial) -> bool:
    before = match.last("down", "price", 1)
    return bool(
        match.last("down", "price") < (match.last("start", "price") if before is None else before)
    )


def _rises(match: Partial) -> bool:
    before = match.last("down", "price", 1)
    return before is not None and bool(match.last("up", "price") > before)


def _mean(match: Partial) -> float:
    return fmean(row["price"] for row in match.of("low"))


def _low(match: Partial) -> tuple[Any, ...]:
    return match.first("low", "time"), match.last("low", "time"), _mean(match)


def _dropped(match: Partial) -> tuple[Any, ...]:
    by = match.last("high", "price") - match.last("low", "price")
    return match.last("low", "time"), by


def _drop(variable: str, less: bool) -> Condition:
    def met(match: Partial) -> bool:
        bound = match.last("high", "price") - _DROP
        price = match.last(variable, "price")
        return bool(price < bound if less else price > bound)

    return met


_PERIOD = "UNIX_TIMESTAMP(started), UNIX_TIMESTAMP(ended), avg_price"
_LOW: dict[str, Condition] = {"low": lambda match: _mean(match) < _HIGH}
MATCHES: Mapping[str, Query] = {
    "cep0": Query(
        "UNIX_TIMESTAMP(started), UNIX_TIMESTAMP(bottom), UNIX_TIMESTAMP(ended)",
        ("start", "down+", "up"),
        {"down": _falls, "up": _rises},
        n.AfterMatch(n.SkipTo.LAST, "up"),
        lambda m: (m.last("start", "time"), m.last("down", "time"), m.last("up", "time")),
    ),
    "cep1": Query(_PERIOD, ("low+", "next"), _LOW, n.AfterMatch(), _low),
    "cep2": Query(_PERIOD, ("low+", "next"), _LOW, n.AfterMatch(n.SkipTo.NEXT_ROW), _low),
    "cep3": Query(
        "UNIX_TIMESTAMP(dropped_at), dropped_by",
        ("high", "between*", "low"),
        {"between": _drop("between", less=False), "low": _drop("low", less=True)},
        n.AfterMatch(),
        _dropped,
        5_000,
    ),
}


def matches(
    query: Query, events: Iterable[tuple[str, Mapping[str, Any]]]
) -> Iterator[tuple[Any, ...]]:
    """Auction and bidder and the query's columns, of all matches that are known by the last
    event."""
    bids: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    now = 0
    for kind, row in events:
        if kind == "bid":
            now = max(now, row["date_time"])
            bids[row["auction"], row["bidder"]].append({**row, "time": row["date_time"]})
    for key, rows in bids.items():
        found = Matching(rows, query.pattern, query.conditions, query.after, query.within, now)
        yield from ((*key, *query.values(match)) for match in found.matches())
