"""The difference of two nested types: the path of the field, instead of both types in full."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streamsql import types
from streamsql.errors import did_you_mean
from streamsql.types import SQLType

Fits = Callable[[SQLType, SQLType], bool]


@dataclass(frozen=True)
class Mismatch:
    """The first part of a value that does not fit, by its path: `A->B`, `A[]->B`."""

    message: str
    hint: str | None = None


def mismatch(path: str, given: SQLType, target: SQLType, fits: Fits) -> Mismatch | None:
    """The error of a nested value at `path`; None if it concerns the value as a whole."""
    if types.is_array(given) and types.is_array(target):
        return _part(f"{path}[]", types.element_type(given), types.element_type(target), fits)
    if types.is_map(given) and types.is_map(target):
        key = _part(f"{path} key", types.key_type(given), types.key_type(target), fits)
        value = f"{path}[]", types.element_type(given), types.element_type(target)
        return key or _part(*value, fits)
    if types.is_struct(given) and types.is_struct(target):
        wanted = dict(types.fields(target))
        for name, kind in types.fields(given):
            if name not in wanted:
                return _unknown(path, name, wanted)
            if found := _part(f"{path}->{name}", kind, wanted[name], fits):
                return found
    return None


def _part(path: str, given: SQLType, target: SQLType, fits: Fits) -> Mismatch | None:
    if fits(given, target):
        return None
    expected = f"Expected type {types.to_sql(target)} for {path}, but got {types.to_sql(given)}"
    return mismatch(path, given, target, fits) or Mismatch(expected)


def _unknown(path: str, name: str, wanted: dict[str, SQLType]) -> Mismatch:
    return Mismatch(
        f"unknown field {path}->{name}",
        did_you_mean(name, wanted) or f"{path} has the fields {', '.join(wanted)}.",
    )
