"""Checks and converts Python values to SQL types before they are sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from streamsql.errors import TypeMismatchError
from streamsql.types import (
    SQLType,
    element_type,
    fields,
    is_array,
    is_map,
    is_struct,
    key_type,
    to_sql,
)
from streamsql.values.nested import scalar
from streamsql.values.scalars import without_zone

_BITS = {"INTEGER": 31, "BIGINT": 63}


def value_of(given: Any, t: SQLType) -> Any:
    """Converts a value to the type; TypeMismatchError if impossible."""
    if given is None:
        return None
    if is_array(t):
        return [value_of(item, element_type(t)) for item in _container(given, Sequence, t)]
    if is_map(t):
        key, element = key_type(t), element_type(t)
        entries = _container(given, Mapping, t).items()
        return {value_of(k, key): value_of(v, element) for k, v in entries}
    if is_struct(t):
        return _struct(_container(given, Mapping, t), t)
    name = scalar(t).name
    found = _integer(given, _BITS[name]) if name in _BITS else _RULES[name](given)
    if found is None:
        raise _misfit(given, t)
    return found


def _struct(given: Mapping[str, Any], t: SQLType) -> dict[str, Any]:
    kinds = dict(fields(t))
    cells: dict[str, Any] = dict.fromkeys(kinds)
    for name, cell in given.items():
        known = name if name in kinds else name.upper()
        if known not in kinds:
            raise TypeMismatchError(f"{to_sql(t)} has no field {name}")
        cells[known] = value_of(cell, kinds[known])
    return cells


def _container(given: Any, kind: Any, t: SQLType) -> Any:
    if isinstance(given, kind) and not isinstance(given, str | bytes):
        return given
    raise _misfit(given, t)


def _misfit(given: Any, t: SQLType) -> TypeMismatchError:
    shown = repr(given)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return TypeMismatchError(f"{shown} is not a value of the type {to_sql(t)}")


def _integer(given: Any, bits: int) -> int | None:
    # Numbers of NumPy and pandas are not ints, but convert to them.
    number = given.__index__() if hasattr(given, "__index__") else None
    if isinstance(given, bool) or number is None or not -(1 << bits) <= number < 1 << bits:
        return None
    return int(number)


def _double(given: Any) -> float | None:
    if isinstance(given, bool | str) or not hasattr(given, "__float__"):
        return None
    return float(given)


def _decimal(given: Any) -> Decimal | None:
    if isinstance(given, bool) or not isinstance(given, int | Decimal):
        return None
    number = Decimal(given)
    return number if number.is_finite() else None


def _moment(given: Any) -> datetime | None:
    return without_zone(given) if isinstance(given, datetime) else None


def _date(given: Any) -> date | None:
    return given if isinstance(given, date) and not isinstance(given, datetime) else None


_RULES: dict[str, Callable[[Any], Any]] = {
    "BOOLEAN": lambda given: given if isinstance(given, bool) else None,
    "DOUBLE": _double,
    "DECIMAL": _decimal,
    "STRING": lambda given: given if isinstance(given, str) else None,
    "BYTES": lambda given: (
        bytes(given) if isinstance(given, bytes | bytearray | memoryview) else None
    ),
    "DATE": _date,
    "TIME": lambda given: given if isinstance(given, time) else None,
    "TIMESTAMP": _moment,
}
