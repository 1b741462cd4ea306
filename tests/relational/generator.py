"""Random queries of standard SQL, which PostgreSQL and DuckDB answer in one way only.

A query is a function of the numbers that a `Pick` gives: `Seeded` takes them from a seed, `Drawn`
from hypothesis, which shrinks a failing query by making the numbers smaller. 0 is always the
simplest choice.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

INT, TEXT = "int", "text"

MOST_ROWS = 3_000
"""About as many rows FROM has at most. Without a bound, four relations without conditions have
gigabytes of result."""
_VALUES = 5
"""Different values of a column."""


class Pick(Protocol):
    """Gives the numbers that a query is made of."""

    def number(self, most: int) -> int:
        """From 0 to `most`."""
        ...


class Seeded:
    """Numbers of a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.taken: list[int] = []
        """What has been given."""

    def number(self, most: int) -> int:
        self.taken.append(self._random.randint(0, most))
        return self.taken[-1]


@dataclass
class Replayed:
    """Given numbers, and after them 0."""

    numbers: Sequence[int]
    taken: list[int] = field(default_factory=list)
    """What has been given: smaller than asked where `most` was."""

    def number(self, most: int) -> int:
        place = len(self.taken)
        found = min(most, self.numbers[place]) if place < len(self.numbers) else 0
        self.taken.append(found)
        return found


@dataclass
class Drawn:
    """Numbers of hypothesis."""

    draw: Callable[[st.SearchStrategy[int]], int]

    def number(self, most: int) -> int:
        return self.draw(st.integers(0, most))


@dataclass(frozen=True)
class Column:
    """`alias.name`, as an expression of its type."""

    text: str
    kind: str


@dataclass(frozen=True)
class Table:
    """Its columns with their types; the first `key` of them are its primary key."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: int = 0
    rows: int = 6
    """About as many rows it has at most."""


class Made(NamedTuple):
    """A query, and about as many rows it has at most."""

    text: str
    rows: int


class From(NamedTuple):
    """What FROM names, its columns, and about as many rows it has at most."""

    text: str
    columns: list[Column]
    rows: int


@dataclass
class Generator:
    """Makes queries over the tables."""

    pick: Pick
    tables: Sequence[Table]
    size: int = 3
    """How deep queries and expressions nest."""
    bounded: bool = True
    """Whether LIMIT and ORDER BY may be in it."""
    _aliases: int = field(default=0, init=False)

    def query(self) -> str:
        return self.made(self.kinds()).text

    def kinds(self) -> list[str]:
        """Types of one to three columns."""
        return [self._one((INT, TEXT)) for _ in range(1 + self.pick.number(2))]

    def made(self, kinds: Sequence[str]) -> Made:
        """A query with columns c1, c2, .. of these types."""
        return self._query(kinds, (), self.size)

    # -- choices ---------------------------------------------------------------------------------

    def _one(self, choices: Sequence[T]) -> T:
        return choices[self.pick.number(len(choices) - 1)]

    def _chance(self, one_of: int) -> bool:
        """True in one of that many draws; shrinking makes it false."""
        return self.pick.number(one_of - 1) == one_of - 1

    def _alias(self) -> str:
        self._aliases += 1
        return f"r{self._aliases}"

    # -- queries ---------------------------------------------------------------------------------

    def _query(self, kinds: Sequence[str], outer: Sequence[Column], size: int) -> Made:
        """A query with columns c1, c2, .. of these types."""
        if size > 1 and self._chance(6):
            operator = self._one(
                ("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL")
            )
            left = self._select(kinds, outer, size - 1)
            right = self._select(kinds, outer, size - 1)
            rows = left.rows + right.rows if operator.startswith("UNION") else left.rows
            return Made(f"({left.text}) {operator} ({right.text})", rows)
        text, rows = self._select(kinds, outer, size)
        if self.bounded and self._chance(6):
            places = ", ".join(
                f"{n}{self._one(('', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'))}"
                for n in range(1, len(kinds) + 1)
            )
            offset = f" OFFSET {self.pick.number(2)}" if self._chance(3) else ""
            limit = 1 + self.pick.number(4)
            text, rows = f"{text} ORDER BY {places} LIMIT {limit}{offset}", min(limit, rows)
        return Made(text, rows)

    def _select(self, kinds: Sequence[str], outer: Sequence[Column], size: int) -> Made:
        relations, columns, rows = self._from(outer, size)
        where = f" WHERE {self._condition(columns, outer, size)}" if self._chance(2) else ""
        shape = self.pick.number(9)
        if shape in (5, 6, 7):
            return self._grouped(kinds, relations, where, columns, outer, size, rows)
        if shape == 8 and size > 1:
            return Made(self._windowed(kinds, relations, where, columns, outer, size), rows)
        values = [self._value(kind, columns, outer, size) for kind in kinds]
        items = _items(values)
        distinct = "DISTINCT " if shape == 9 else ""
        return Made(f"SELECT {distinct}{items} FROM {relations}{where}", rows)

    def _grouped(
        self,
        kinds: Sequence[str],
        relations: str,
        where: str,
        columns: Sequence[Column],
        outer: Sequence[Column],
        size: int,
        rows: int,
    ) -> Made:
        keys = [self._one(columns) for _ in range(self.pick.number(2))]
        keys = list(dict.fromkeys(keys))
        values = []
        for kind in kinds:
            found = [key.text for key in keys if key.kind == kind]
            if found and self._chance(2):
                values.append(self._one(found))
            else:
                values.append(self._aggregate(kind, columns, outer, size))
        group = ""
        if keys:
            names = [key.text for key in keys]
            group = f" GROUP BY {self._sets(names)}"
        having = ""
        if self._chance(3):
            having = f" HAVING {self._aggregate(INT, columns, outer, size)} > {self.pick.number(3)}"
        # Each of the keys adds a set at most.
        groups = min(rows, _VALUES ** len(keys)) * (len(keys) + 1)
        return Made(f"SELECT {_items(values)} FROM {relations}{where}{group}{having}", groups)

    def _sets(self, names: Sequence[str]) -> str:
        all_ = ", ".join(names)
        choice = self.pick.number(7)
        if choice == 5:
            return f"ROLLUP ({all_})"
        if choice == 6:
            return f"CUBE ({all_})"
        if choice == 7:
            return f"GROUPING SETS (({names[0]}), ({all_}), ())"
        return all_

    def _windowed(
        self,
        kinds: Sequence[str],
        relations: str,
        where: str,
        columns: Sequence[Column],
        outer: Sequence[Column],
        size: int,
    ) -> str:
        values = [
            self._window(columns) if kind == INT else self._value(kind, columns, outer, 1)
            for kind in kinds
        ]
        return f"SELECT {_items(values)} FROM {relations}{where}"

    def _window(self, columns: Sequence[Column]) -> str:
        partition = f"PARTITION BY {self._one(columns).text}" if self._chance(2) else ""
        order = f"ORDER BY {self._one(columns).text}{self._one(('', ' DESC', ' NULLS FIRST'))}"
        value = self._one(columns).text
        number = self._column(INT, columns) or "1"
        # Without a total order only functions that rows of equal order share have one result.
        return self._one(
            (
                f"count({value}) OVER ({partition})",
                f"rank() OVER ({partition} {order})",
                f"dense_rank() OVER ({partition} {order})",
                f"sum({number}) OVER ({partition} {order})",
                f"min({number}) OVER ({partition} {order})",
                f"count(*) OVER ({partition} {order} RANGE BETWEEN UNBOUNDED PRECEDING AND "
                "CURRENT ROW)",
                f"max({number}) OVER ({partition} {order} RANGE BETWEEN CURRENT ROW AND UNBOUNDED "
                "FOLLOWING)",
            )
        )

    # -- FROM ------------------------------------------------------------------------------------

    def _from(self, outer: Sequence[Column], size: int) -> From:
        text, columns, rows = self._relation(outer, size)
        for _ in range(self.pick.number(min(size, 3))):
            lateral = self._chance(6) and size > 1
            seen = [*outer, *columns] if lateral else outer
            right, more, others = self._relation(seen, size - 1, lateral=lateral)
            kind = self._one(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", ","))
            if lateral and kind in ("RIGHT JOIN", "FULL JOIN"):
                kind = "LEFT JOIN"
            few = rows * others <= MOST_ROWS
            if kind in (",", "CROSS JOIN") and few:
                # A comma binds less than JOIN, whose ON would not see what is before it.
                text, rows = f"{text} CROSS JOIN {right}", rows * others
            else:
                kind = "JOIN" if kind in (",", "CROSS JOIN") else kind
                met = max(rows * others // _VALUES, rows, others)
                on = self._join_condition(columns, more, kind == "FULL JOIN", few)
                if on is None or met > MOST_ROWS:
                    break
                text, rows = f"{text} {kind} {right} ON {on}", met
            columns = [*columns, *more]
        return From(text, columns, rows)

    def _relation(self, outer: Sequence[Column], size: int, *, lateral: bool = False) -> From:
        alias = self._alias()
        if lateral or (size > 1 and self._chance(5)):
            kinds = [self._one((INT, TEXT)) for _ in range(1 + self.pick.number(1))]
            inner = self._query(kinds, outer, size - 1)
            names = [f"c{n}" for n in range(1, len(kinds) + 1)]
            columns = [Column(f"{alias}.{n}", k) for n, k in zip(names, kinds, strict=True)]
            prefix = "LATERAL " if lateral else ""
            return From(f"{prefix}({inner.text}) AS {alias}", columns, inner.rows)
        table = self._one(self.tables)
        columns = [Column(f"{alias}.{n}", k) for n, k in table.columns]
        return From(f"{table.name} AS {alias}", columns, table.rows)

    def _join_condition(
        self, left: Sequence[Column], right: Sequence[Column], full: bool, few: bool
    ) -> str | None:
        """With an equality, unless there are few pairs of rows; None: no columns are equal."""
        kinds = {column.kind for column in right}
        found = left if few else [column for column in left if column.kind in kinds]
        if not found:
            return None
        first = self._one(found)
        others = [column for column in right if column.kind == first.kind] or [first]
        equal = f"{first.text} = {self._one(others).text}"
        # DuckDB joins FULL on equalities only.
        if full or not self._chance(3):
            return equal
        both = f"{equal} AND {self._comparison([*left, *right])}"
        other = self._comparison([*left, *right])
        return self._one((both, other if few else both))

    # -- expressions -----------------------------------------------------------------------------

    def _column(self, kind: str, columns: Sequence[Column]) -> str | None:
        found = [column.text for column in columns if column.kind == kind]
        return self._one(found) if found else None

    def _value(
        self, kind: str, columns: Sequence[Column], outer: Sequence[Column], size: int
    ) -> str:
        every = [*columns, *outer] if self._chance(3) else list(columns)
        simple = self._column(kind, every) or ("1" if kind == INT else "'x'")
        if size <= 1:
            return simple
        choice = self.pick.number(9)
        if choice <= 4:
            return simple
        if choice == 5 and size > 1:
            return f"({self._scalar(kind, every, size)})"
        if choice == 6:
            condition = self._condition(columns, outer, size - 1)
            other = self._value(kind, columns, outer, size - 1)
            return f"CASE WHEN {condition} THEN {simple} ELSE {other} END"
        if choice == 7:
            return f"coalesce({simple}, {self._literal(kind)})"
        if kind == TEXT:
            return self._one((f"upper({simple})", f"({simple} || 'q')", f"nullif({simple}, 'x')"))
        other = self._column(INT, every) or "2"
        return self._one(
            (f"({simple} + {other})", f"({simple} - {other})", f"({simple} * 2)", f"abs({simple})")
        )

    def _literal(self, kind: str) -> str:
        if kind == INT:
            return str(self.pick.number(5))
        return self._one(("'x'", "'y'", "'z'"))

    def _scalar(self, kind: str, outer: Sequence[Column], size: int) -> str:
        """A query with one row."""
        relations, columns, _ = self._from(outer, size - 2)
        where = f" WHERE {self._condition(columns, outer, 1)}"
        value = self._aggregate(kind, columns, (), 1)
        return f"SELECT {value} AS c1 FROM {relations}{where}"

    def _aggregate(
        self, kind: str, columns: Sequence[Column], outer: Sequence[Column], size: int
    ) -> str:
        number, text = self._column(INT, columns), self._column(TEXT, columns)
        if kind == TEXT:
            value = text or "'x'"
            return self._one(
                (
                    f"max({value})",
                    f"min({value})",
                    f"string_agg({value}, ',' ORDER BY {value})",
                )
            )
        value = number or "1"
        calls = [
            "count(*)",
            f"sum({value})",
            f"count({text or value})",
            f"count(DISTINCT {value})",
            f"max({value})",
            f"sum(DISTINCT {value})",
            f"count(*) FILTER (WHERE {self._comparison(columns)})",
        ]
        return self._one(calls)

    def _comparison(self, columns: Sequence[Column]) -> str:
        first = self._one(columns)
        operator = self._one(("=", "<", ">", "<>", "<=", ">=", "IS DISTINCT FROM"))
        if self._chance(2):
            same = [column for column in columns if column.kind == first.kind]
            return f"{first.text} {operator} {self._one(same).text}"
        return f"{first.text} {operator} {self._literal(first.kind)}"

    def _condition(self, columns: Sequence[Column], outer: Sequence[Column], size: int) -> str:
        every = [*columns, *outer]
        if size <= 1:
            if outer and self._chance(2):
                # Correlation is what a subquery is most often for.
                first = self._one(outer)
                found = self._column(first.kind, columns)
                if found is not None:
                    return f"{found} {self._one(('=', '=', '<', '>='))} {first.text}"
            return self._comparison(every)
        choice = self.pick.number(11)
        if choice <= 3:
            return self._comparison(every)
        one, other = (lambda: self._condition(columns, outer, size - 1) for _ in range(2))
        if choice == 4:
            return f"({one()} AND {other()})"
        if choice == 5:
            return f"({one()} OR {other()})"
        if choice == 6:
            return f"NOT ({one()})"
        if choice == 7:
            no = " NOT" if self._chance(2) else ""
            return f"{self._one(every).text} IS{no} NULL"
        if choice == 8:
            no = "NOT " if self._chance(2) else ""
            return f"{no}EXISTS ({self._query([INT], every, size - 1).text})"
        first = self._one(every)
        inner = self._query([first.kind], every, size - 1).text
        if choice == 9:
            no = "NOT " if self._chance(2) else ""
            return f"{first.text} {no}IN ({inner})"
        if choice == 10:
            operator = self._one(("=", "<", ">", "<>", ">="))
            return f"{first.text} {operator} {self._one(('ANY', 'ALL'))} ({inner})"
        return f"{first.text} > ({self._scalar(first.kind, every, size)})"


def _items(values: Sequence[str]) -> str:
    return ", ".join(f"{value} AS c{n}" for n, value in enumerate(values, 1))
