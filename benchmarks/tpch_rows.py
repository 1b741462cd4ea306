"""TPC-H's eight tables at a scale, and changes of their rows.

Values follow the distributions of dbgen closely enough for each of the 22 queries to have rows.
Dates are days since 1970, as JSON topics have them; amounts are numbers of two decimal places.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any

Key = tuple[int, ...]
Row = tuple[Any, ...]
"""The values of all columns, the key's first."""
Change = tuple[str, Key, Row | None]
"""The table, the key, and the new row; None: the row is deleted."""

KEYS = {
    "region": 1,
    "nation": 1,
    "supplier": 1,
    "customer": 1,
    "part": 1,
    "partsupp": 2,
    "orders": 1,
    "lineitem": 2,
}
"""The tables, with the number of columns of their keys."""

_REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_NATIONS = (
    *(("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4)),
    *(("ETHIOPIA", 0), ("FRANCE", 3), ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2)),
    *(("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0)),
    *(("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3)),
    *(("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3), ("UNITED KINGDOM", 3)),
    ("UNITED STATES", 1),
)
_COLORS = (
    "almond azure beige blue brown chocolate cream cyan drab forest gold green honeydew indigo "
    "ivory khaki lemon linen maroon navy olive orchid peach plum red rose salmon sky steel tan"
).split()
_TYPES = (
    ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
    ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
    ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"),
)
_CONTAINERS = (
    ("SM", "LG", "MED", "JUMBO", "WRAP"),
    ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"),
)
_SOUGHT = (
    ("Brand#12", "ECONOMY ANODIZED STEEL", 4, "SM BOX"),
    ("Brand#23", "ECONOMY ANODIZED STEEL", 15, "MED BOX"),
    ("Brand#34", "PROMO PLATED BRASS", 15, "LG PACK"),
)
"""Brand, type, size and container of a tenth of the parts: those that queries ask for."""
_SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD")
_PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
_INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")
_MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
_WORDS = "carefully final deposits sleep quickly ironic accounts haggle bold packages".split()


def days(year: int, month: int, day: int) -> int:
    return (date(year, month, day) - date(1970, 1, 1)).days


_FIRST_ORDER, _LAST_ORDER = days(1992, 1, 1), days(1998, 8, 2)
_TODAY = days(1995, 6, 17)


@dataclass
class _Table:
    """Rows by key, of which one can be drawn."""

    rows: dict[Key, Row] = field(default_factory=dict)
    _keys: list[Key] = field(default_factory=list)
    _places: dict[Key, int] = field(default_factory=dict)

    def put(self, key: Key, row: Row | None) -> None:
        if row is None:
            del self.rows[key]
            place, last = self._places.pop(key), self._keys.pop()
            if last != key:
                self._keys[place] = last
                self._places[last] = place
            return
        if key not in self.rows:
            self._places[key] = len(self._keys)
            self._keys.append(key)
        self.rows[key] = row

    def draw(self, chance: random.Random) -> Key:
        return self._keys[int(chance.random() * len(self._keys))]


class Database:
    """The tables' present rows."""

    def __init__(self, scale: float, seed: int = 1) -> None:
        self._chance = random.Random(seed)
        self._tables = {name: _Table() for name in KEYS}
        self._parts = max(20, int(200_000 * scale))
        self._suppliers = max(10, int(10_000 * scale))
        self._customers = max(15, int(150_000 * scale))
        self._orders = 0
        self._lines: dict[int, int] = {}
        for name, row in self._all_rows():
            self._put(name, row)

    def rows(self, table: str) -> dict[Key, Row]:
        return self._tables[table].rows

    def changes(self) -> Iterator[Change]:
        """Changes without end; each is in the tables when it is given."""
        kinds = (
            (18, self._new_order),
            (18, self._deleted_order),
            (60, self._changed_line),
            (30, self._changed_order),
            (10, self._changed_customer),
            (4, self._changed_supplier),
            (10, self._changed_offer),
            (6, self._changed_part),
            (1, self._changed_nation),
        )
        weights, functions = zip(*kinds, strict=True)
        while True:
            (function,) = self._chance.choices(functions, weights)
            yield from function()

    # -- rows ------------------------------------------------------------------------------------

    def _all_rows(self) -> Iterator[tuple[str, Row]]:
        yield from (("region", (n, name, self._text())) for n, name in enumerate(_REGIONS))
        for n, (name, region) in enumerate(_NATIONS):
            yield "nation", (n, name, region, self._text())
        yield from (("supplier", self._supplier(n)) for n in range(1, self._suppliers + 1))
        yield from (("customer", self._customer(n)) for n in range(1, self._customers + 1))
        for part in range(1, self._parts + 1):
            yield "part", self._part(part)
            for supplier in dict.fromkeys(self._supplier_of(part, n) for n in range(4)):
                yield "partsupp", self._offer(part, supplier)
        for _ in range(10 * self._customers):
            yield from self._order()

    def _supplier(self, number: int) -> Row:
        nation = self._below(25)
        comment = "Customer few Complaints" if self._below(50) == 0 else self._text()
        name = f"Supplier#{number:09}"
        return (number, name, self._text(), nation, self._phone(nation), self._balance(), comment)

    def _customer(self, number: int) -> Row:
        nation = self._below(25)
        return (
            number,
            f"Customer#{number:09}",
            self._text(),
            nation,
            self._phone(nation),
            self._balance(),
            self._chance.choice(_SEGMENTS),
            self._text(),
        )

    def _part(self, number: int) -> Row:
        brand = f"Brand#{1 + self._below(5)}{1 + self._below(5)}"
        kind, container = (
            " ".join(map(self._chance.choice, words)) for words in (_TYPES, _CONTAINERS)
        )
        size = 1 + self._below(50)
        if self._below(10) == 0:
            brand, kind, size, container = self._chance.choice(_SOUGHT)
        name = " ".join(self._chance.sample(_COLORS, 5))
        maker = f"Manufacturer#{brand[-2]}"
        return (number, name, maker, brand, kind, size, container, _price(number), self._text())

    def _offer(self, part: int, supplier: int) -> Row:
        cost = round(1 + self._chance.random() * 999, 2)
        return (part, supplier, 1 + self._below(9999), cost, self._text())

    def _supplier_of(self, part: int, number: int) -> int:
        step = self._suppliers // 4 + (part - 1) // self._suppliers
        return (part + number * step) % self._suppliers + 1

    def _order(self) -> Iterator[tuple[str, Row]]:
        """A new order and its lines."""
        self._orders += 1
        number, lines = self._orders, 1 + self._below(7)
        ordered = _FIRST_ORDER + self._below(_LAST_ORDER - _FIRST_ORDER)
        rows = [self._line(number, line, ordered) for line in range(1, lines + 1)]
        self._lines[number] = lines
        statuses = {row[9] for row in rows}
        status = statuses.pop() if len(statuses) == 1 else "P"
        customer = 1 + self._below(self._customers)
        # A third of the customers orders nothing.
        customer -= customer % 3 == 0
        comment = "special pending requests" if self._below(60) == 0 else self._text()
        total = round(sum(row[5] * (1 + row[7]) * (1 - row[6]) for row in rows), 2)
        clerk = f"Clerk#{self._below(1000):09}"
        priority = self._chance.choice(_PRIORITIES)
        yield (
            "orders",
            (number, customer, status, total, ordered, priority, clerk, 0, comment),
        )
        yield from (("lineitem", row) for row in rows)

    def _line(self, order: int, number: int, ordered: int) -> Row:
        part = 1 + self._below(self._parts)
        quantity = 1 + self._below(50)
        shipped = ordered + 1 + self._below(121)
        received = shipped + 1 + self._below(30)
        return (
            order,
            number,
            part,
            self._supplier_of(part, self._below(4)),
            quantity,
            round(quantity * _price(part), 2),
            self._below(11) / 100,
            self._below(9) / 100,
            self._chance.choice("RA") if received <= _TODAY else "N",
            "O" if shipped > _TODAY else "F",
            shipped,
            ordered + 30 + self._below(61),
            received,
            self._chance.choice(_INSTRUCTIONS),
            self._chance.choice(_MODES),
            self._text(),
        )

    def _text(self) -> str:
        return " ".join(self._chance.choices(_WORDS, k=4))

    def _phone(self, nation: int) -> str:
        return f"{nation + 10}-{self._below(900) + 100}-{self._below(9000) + 1000}"

    def _balance(self) -> float:
        return round(self._chance.random() * 10_999.98 - 999.99, 2)

    def _below(self, most: int) -> int:
        return int(self._chance.random() * most)

    # -- changes ---------------------------------------------------------------------------------

    def _put(self, table: str, row: Row) -> Change:
        key = row[: KEYS[table]]
        self._tables[table].put(key, row)
        return table, key, row

    def _delete(self, table: str, key: Key) -> Change:
        self._tables[table].put(key, None)
        return table, key, None

    def _new_order(self) -> Iterator[Change]:
        yield from (self._put(table, row) for table, row in self._order())

    def _deleted_order(self) -> Iterator[Change]:
        key = self._tables["orders"].draw(self._chance)
        yield self._delete("orders", key)
        for line in range(1, self._lines.pop(key[0]) + 1):
            yield self._delete("lineitem", (key[0], line))

    def _changed_line(self) -> Iterator[Change]:
        key = self._tables["lineitem"].draw(self._chance)
        ordered = _FIRST_ORDER + self._below(_LAST_ORDER - _FIRST_ORDER)
        yield self._put("lineitem", self._line(key[0], key[1], ordered))

    def _changed_order(self) -> Iterator[Change]:
        orders = self._tables["orders"]
        row = list(orders.rows[orders.draw(self._chance)])
        row[2] = self._chance.choice("OFP")
        row[3] = round(row[3] * (0.5 + self._chance.random()), 2)
        row[5] = self._chance.choice(_PRIORITIES)
        yield self._put("orders", tuple(row))

    def _changed_customer(self) -> Iterator[Change]:
        yield self._put("customer", self._customer(1 + self._below(self._customers)))

    def _changed_supplier(self) -> Iterator[Change]:
        """Every other one goes, and may come back."""
        number = 1 + self._below(self._suppliers)
        if self._below(2) and (number,) in self._tables["supplier"].rows:
            yield self._delete("supplier", (number,))
        else:
            yield self._put("supplier", self._supplier(number))

    def _changed_offer(self) -> Iterator[Change]:
        key = self._tables["partsupp"].draw(self._chance)
        yield self._put("partsupp", self._offer(*key))

    def _changed_part(self) -> Iterator[Change]:
        yield self._put("part", self._part(1 + self._below(self._parts)))

    def _changed_nation(self) -> Iterator[Change]:
        """A nation moves to another region, which changes the results of whole regions."""
        number = self._below(25)
        name = _NATIONS[number][0]
        yield self._put("nation", (number, name, self._below(5), self._text()))


def _price(part: int) -> float:
    """The retail price of a part."""
    return round((90_000 + part // 10 % 20_001 + 100 * (part % 1000)) / 100, 2)
