"""Functions of angles in degrees, exact where PostgreSQL's are: SIND(30) is 0.5."""

from __future__ import annotations

from streamsql.nodes import Expression
from streamsql.planner.relational.intervals import computed
from streamsql.types import DOUBLE


def _sine(angle: str) -> str:
    """Of an angle from 0 to 90."""
    return (
        f"IF({angle} <= 30, SIN(RADIANS({angle})) / SIN(RADIANS(30)) / 2, "
        f"1 - (1 - COS(RADIANS(90 - {angle}))) / (1 - COS(RADIANS(60))) / 2)"
    )


def _cosine(angle: str) -> str:
    return (
        f"IF({angle} <= 60, 1 - (1 - COS(RADIANS({angle}))) / (1 - COS(RADIANS(60))) / 2, "
        f"SIN(RADIANS(90 - {angle})) / SIN(RADIANS(30)) / 2)"
    )


def _arcsine(value: str) -> str:
    """Of a value from 0 to 1."""
    return (
        f"IF({value} <= 0.5, ASIN({value}) / ASIN(0.5) * 30, 90 - ACOS({value}) / ACOS(0.5) * 60)"
    )


_TURN = "ABS(v.x) % 360"
_HALF = f"IF({_TURN} > 180, 360 - {_TURN}, {_TURN})"
_QUARTER = f"IF({_HALF} > 90, 180 - {_HALF}, {_HALF})"
_OF_SINE = f"SIGN(v.x) * IF({_TURN} > 180, -1, 1)"
_OF_COSINE = f"IF({_HALF} > 90, -1, 1)"


def _quotient(above: str, below: str) -> str:
    """Infinite where the divisor is 0."""
    infinite = "CAST('Infinity' AS DOUBLE)"
    value = f"IF({below} = 0, {infinite}, {above} / NULLIF({below}, 0))"
    # No minus zero.
    return f"{_OF_SINE} * {_OF_COSINE} * {_of_quarter(value)} + CAST(0 AS DOUBLE)"


def _of_quarter(template: str) -> str:
    """The template over `q`, the angle in the first quarter of the circle."""
    return f"GET(TRANSFORM(ARRAY({_QUARTER}), q -> {template}), 0)"


_SINE, _COSINE = _sine("q"), _cosine("q")
_TEMPLATES = {
    "SIND": f"{_OF_SINE} * {_of_quarter(_SINE)}",
    "COSD": f"{_OF_COSINE} * {_of_quarter(_COSINE)}",
    "TAND": _quotient(_SINE, _COSINE),
    "COTD": _quotient(_COSINE, _SINE),
    "ASIND": f"SIGN(v.x) * {_arcsine('ABS(v.x)')}",
    "ACOSD": f"IF(v.x >= 0, IF(v.x <= 0.5, 90 - ASIN(v.x) / ASIN(0.5) * 30, "
    f"ACOS(v.x) / ACOS(0.5) * 60), 90 + {_arcsine('(-v.x)')})",
    "ATAND": "ATAN(v.x) / ATAN(1) * 45",
}
NAMES = frozenset({*_TEMPLATES, "ATAN2D"})


def of_degrees(name: str, values: list[Expression]) -> Expression:
    if name == "ATAN2D":
        return computed("ATAN2(v.y, v.x) / ATAN(1) * 45", DOUBLE, y=values[0], x=values[1])
    return computed(_TEMPLATES[name], DOUBLE, x=values[0])
