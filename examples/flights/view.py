"""What the demo shows of the flights' tables, at any moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from examples.flights.prepare import read_other
from streamsql.results import Field, Rows, Value
from streamsql.types import BIGINT, DOUBLE, STRING

HOURS = """
SELECT carrier, WINDOWSTART AS hour, flights, departed, average_delay, longest_delay
FROM delay_by_carrier_and_hour EMIT CHANGES;
"""
ROUTES = "SELECT origin, dest, flights, arrived, average_delay FROM delay_by_route EMIT CHANGES;"
WIND = """
SELECT airline, wind, flights, departed, average_delay
FROM delay_by_airline_and_wind EMIT CHANGES;
"""
PLANES = (
    "SELECT manufacturer, age, flights, arrived, average_delay FROM delay_by_plane EMIT CHANGES;"
)
WINDS = ("under 10 mph", "10 to 20 mph", "20 to 30 mph", "30 mph or more", "not reported")
AGES = ("under 10 years", "10 to 20 years", "20 years or more", "unknown")
FEWEST_IN_AN_HOUR = 5
FEWEST_ON_A_ROUTE = 100
FEWEST_IN_A_CELL = 20

Cells = Sequence[tuple[Value, ...]]


def carriers() -> dict[str, str]:
    """Names of airlines by their codes."""
    return {row["carrier"]: row["name"] for row in read_other("airlines").to_pylist()}


def counted(rows: Cells) -> int:
    """How many flights are in the rows of any of the tables."""
    return sum(cast("int", row[2]) for row in rows)


def with_wind(rows: Cells) -> int:
    """How many flights are in the rows of `WIND` that met a report of the wind."""
    return counted([row for row in rows if row[1] != WINDS[-1]])


def worst_hours(rows: Cells, names: Mapping[str, str], count: int = 6) -> Rows:
    """The hours in which a carrier was latest."""
    fields = (
        Field("Carrier", STRING),
        Field("Hour (UTC)", STRING),
        Field("Flights", BIGINT),
        Field("Average delay (min)", DOUBLE),
    )
    cells = [
        (names.get(str(row[0]), str(row[0])), _hour(cast("int", row[1])), row[2], _minutes(row[4]))
        for row in _latest(rows, 4, 3, FEWEST_IN_AN_HOUR)[:count]
    ]
    return Rows(fields, cells, f"Latest hours of a carrier ({FEWEST_IN_AN_HOUR} flights or more)")


def worst_routes(rows: Cells, count: int = 6) -> Rows:
    """The routes on which flights arrived latest."""
    fields = (
        Field("From", STRING),
        Field("To", STRING),
        Field("Flights", BIGINT),
        Field("Average delay (min)", DOUBLE),
    )
    cells = [
        (row[0], row[1], row[2], _minutes(row[4]))
        for row in _latest(rows, 4, 3, FEWEST_ON_A_ROUTE)[:count]
    ]
    return Rows(fields, cells, f"Latest routes ({FEWEST_ON_A_ROUTE} flights or more)")


def by_wind(rows: Cells, count: int = 8) -> Rows:
    """An airline a row, a band of wind a column: the average delay of departures."""
    title = "Average delay of departures (min) by airline and wind (mph)"
    return _crossed(rows, "Airline", WINDS, title, count)


def by_plane(rows: Cells, count: int = 6) -> Rows:
    """A manufacturer a row, an age a column: the average delay of arrivals."""
    title = "Average delay of arrivals (min) by the plane's manufacturer and age (years)"
    return _crossed(rows, "Manufacturer", AGES, title, count)


def _crossed(rows: Cells, name: str, columns: Sequence[str], title: str, count: int) -> Rows:
    """Rows of (row, column, flights, counted, average): those with most flights first."""
    totals: dict[str, int] = {}
    averages: dict[tuple[Value, Value], float] = {}
    for row, column, flights, known, average in cast("Iterable[tuple]", rows):  # type: ignore[type-arg]
        totals[row] = totals.get(row, 0) + flights
        if known >= FEWEST_IN_A_CELL:
            averages[row, column] = _minutes(average)
    most = sorted(totals, key=lambda row: -totals[row])[:count]
    fields = (
        Field(name, STRING),
        Field("Flights", BIGINT),
        *(Field(column.replace(" mph", "").replace(" years", ""), DOUBLE) for column in columns),
    )
    cells = [(row, totals[row], *(averages.get((row, c)) for c in columns)) for row in most]
    return Rows(fields, cells, title)


@dataclass(frozen=True)
class CarrierYear:
    """A carrier's year, added up from its hours."""

    code: str
    flights: int
    departed: int
    delay: float

    @property
    def average(self) -> float:
        return self.delay / self.departed if self.departed else 0.0


def years(rows: Cells) -> list[CarrierYear]:
    """Each carrier's year, the latest first."""
    found: dict[str, CarrierYear] = {}
    for code, _, flights, departed, average, _ in cast("Iterable[tuple]", rows):  # type: ignore[type-arg]
        year = found.get(code, CarrierYear(code, 0, 0, 0.0))
        found[code] = CarrierYear(
            code,
            year.flights + flights,
            year.departed + departed,
            year.delay + (average or 0.0) * departed,
        )
    return sorted(found.values(), key=lambda year: -year.average)


def year_table(rows: Cells, names: Mapping[str, str]) -> Rows:
    """Each carrier's year as a table."""
    fields = (
        Field("Carrier", STRING),
        Field("Flights", BIGINT),
        Field("Cancelled", BIGINT),
        Field("Average delay (min)", DOUBLE),
    )
    cells = [
        (names.get(y.code, y.code), y.flights, y.flights - y.departed, round(y.average, 1))
        for y in years(rows)
    ]
    return Rows(fields, cells, "Carriers in 2013")


def _latest(rows: Cells, delay: int, flights: int, fewest: int) -> list[tuple[Value, ...]]:
    enough = [r for r in rows if r[delay] is not None and cast("int", r[flights]) >= fewest]
    return sorted(enough, key=lambda row: -cast("float", row[delay]))


def _hour(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%a %d %b %H:%M")


def _minutes(delay: Value) -> float:
    return round(cast("float", delay), 1)
