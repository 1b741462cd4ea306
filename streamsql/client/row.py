"""A row: a tuple with named cells."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, ClassVar, SupportsIndex, overload

from streamsql.errors import did_you_mean

_OF_TUPLES = ("count", "index")


class Row(tuple[Any, ...]):
    """`row[0]`, `row["TOTAL"]`, `row.TOTAL` and `row.total` are the same cell. An exact name takes
    precedence over other cases; of duplicate names, the first column is found. Rows of a result
    share a class: see `row_type`."""

    columns: ClassVar[tuple[str, ...]] = ()
    """The names of the cells, in their order."""
    tombstone: ClassVar[bool] = False
    """Whether it says that a table's row of this key is gone; all but the key is None then."""
    _places: ClassVar[dict[str, int]] = {}

    def asdict(self) -> dict[str, Any]:
        """The cells by the columns' names."""
        return dict(zip(self.columns, self, strict=True))

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> Any: ...
    @overload
    def __getitem__(self, key: slice, /) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, key: str, /) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any:
        if not isinstance(key, str):
            return tuple.__getitem__(self, key)
        place = self._place(key)
        if place is None:
            raise KeyError(f"no column {key}. {did_you_mean(key, self.columns) or ''}".strip())
        return tuple.__getitem__(self, place)

    def __getattr__(self, name: str) -> Any:
        place = self._place(name)
        if place is None:
            hint = did_you_mean(name, self.columns) or ""
            raise AttributeError(f"no column {name}. {hint}".strip())
        return tuple.__getitem__(self, place)

    @classmethod
    def _place(cls, name: str) -> int | None:
        place = cls._places.get(name)
        return cls._places.get(name.upper()) if place is None else place

    def __repr__(self) -> str:
        cells = ", ".join(f"{n}={v!r}" for n, v in zip(self.columns, self, strict=True))
        return f"{'Tombstone' if self.tombstone else 'Row'}({cells})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (self.columns, self.tombstone, tuple(self))


def row_type(columns: Sequence[str], *, tombstone: bool = False) -> type[Row]:
    """The class of a result's rows."""
    places: dict[str, int] = {}
    for place, name in enumerate(columns):
        places.setdefault(name, place)
    # Methods of tuple (count, index) must not hide a column.
    hidden = {n: property(itemgetter(places[n.upper()])) for n in _OF_TUPLES if n.upper() in places}
    own = {"columns": tuple(columns), "tombstone": tombstone, "_places": places}
    return type("Row", (Row,), {**hidden, **own})


def _remade(columns: Sequence[str], tombstone: bool, cells: tuple[Any, ...]) -> Row:
    """A row that was pickled."""
    return row_type(columns, tombstone=tombstone)(cells)
