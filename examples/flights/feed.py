"""The prepared data into their topics, as `streamsql load` does it: at once, or as a live feed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from examples.flights import prepare
from streamsql.errors import StreamSQLError
from streamsql.kafka.client import KafkaClient
from streamsql.load import KeyColumn, LoadSpec, Progress, load

KEYS = {"airlines": "carrier", "planes": "tailnum"}
AHEAD = 1_000
"""Flights that go first: Spark compiles a query when it sees its first rows."""
RATE = 8_000
"""Flights a second: the year passes in less than a minute."""
UNDERWAY = 10_000
"""Flights that may be on their way at a time, so that weather is never late by the grace period,
however slow the machine: that many fly in eleven days."""
LOOK_SECONDS = 0.1


class Feeder:
    """Writes tables into topics; the files between are in `folder`."""

    def __init__(self, folder: Path, client: KafkaClient) -> None:
        self._file = folder / "rows.parquet"
        self._client = client

    def write(
        self,
        topic: str,
        rows: pa.Table,
        progress: Callable[[Progress], None] = lambda _: None,
        *,
        rate: int | None = None,
    ) -> None:
        """Write each row with the time of its column `at`."""
        parquet.write_table(rows, self._file)
        key = (KeyColumn(KEYS[topic]),) if topic in KEYS else ()
        spec = LoadSpec(str(self._file), topic, key=key, timestamp="at", partitions=1, rate=rate)
        load(spec, self._client, progress)


class LiveFeed:
    """Writes flights and weather, in the order of time, in a thread of its own.

    `joined` tells how many flights have come through the join, and how many of them with wind.
    """

    def __init__(
        self, year: prepare.Year, feeder: Feeder, joined: Callable[[], tuple[int, int]]
    ) -> None:
        self._year = year
        self._feeder = feeder
        self._joined = joined
        self._error: StreamSQLError | None = None
        self._ended = threading.Event()
        self.written = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            weeks = zip(
                prepare.weeks(self._year.weather), prepare.weeks(self._year.flights), strict=True
            )
            for weather, flights in weeks:
                self._feeder.write("weather", weather)
                if not self.written:
                    self._fly(flights.slice(0, AHEAD))
                    self._await(lambda: self._joined()[0] >= AHEAD // 2)
                    flights = flights.slice(AHEAD)
                self._fly(flights)
                self._await(lambda: self._joined()[0] >= self.written - UNDERWAY)
            # Were they earlier, the last flights would find their reports' time gone.
            with_wind = prepare.with_wind(self._year)
            self._await(lambda: self._joined()[1] >= with_wind)
            self._feeder.write("weather", prepare.after(self._year.weather))
        except StreamSQLError as error:
            self._error = error

    def _fly(self, flights: pa.Table) -> None:
        if self._ended.is_set():
            return
        before = self.written

        def note(progress: Progress) -> None:
            self.written = before + progress.records

        self._feeder.write("flights", flights, note, rate=RATE)

    def _await(self, condition: Callable[[], bool]) -> None:
        while not condition() and not self._ended.wait(LOOK_SECONDS):
            pass

    def check(self) -> None:
        """Raise the error that ended the feed, if there was one."""
        if self._error is not None:
            raise self._error

    def __enter__(self) -> LiveFeed:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(5.0)
