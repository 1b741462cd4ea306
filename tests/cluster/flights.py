"""The flights of examples/flights as a feed that can be held up, and what their pipeline must have
made of them: computed by DuckDB, from the records that are really in the input topics."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from confluent_kafka import Producer
from delivery.shapes import Topics, value

from examples.flights import prepare
from streamsql.kafka.records import Record

SQL = Path(__file__).parents[2] / "examples" / "flights" / "flights.sql"
INPUTS = ("flights", "weather", "airlines", "planes")
SINKS = (
    "DELAY_BY_CARRIER_AND_HOUR",
    "DELAY_BY_ROUTE",
    "FLIGHTS_IN_CONTEXT",
    "DELAY_BY_AIRLINE_AND_WIND",
    "DELAY_BY_PLANE",
)
_HOUR_MS = 3_600_000
_COLUMNS = {
    "flights": "carrier flight tailnum origin dest dep_delay arr_delay distance".split(),
    "weather": "origin temp wind_speed precip visib".split(),
    "airlines": ["name"],
    "planes": "year manufacturer seats".split(),
}
_KEYS = {"airlines": "carrier", "planes": "tailnum"}
_FLUSH_SECONDS = 120.0


def statements() -> list[str]:
    """Those of the example, one by one."""
    return [f"{text};" for text in SQL.read_text("utf-8").split(";\n") if text.strip()]


class Feed:
    """Writes flights and weather in the order of their time while it is open, at a rate per
    second."""

    def __init__(self, bootstrap: str, rate: float) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "queue.buffering.max.messages": 1_000_000,
                "log_level": 0,
            }
        )
        self._rate = rate
        self._ended = threading.Event()
        self._year = prepare.year()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self.at_ms = 0
        """The time of the last record that was handed to Kafka's client."""
        self.written = 0

    def __enter__(self) -> Feed:
        for topic in ("airlines", "planes"):
            for at_ms, row in _rows(getattr(self._year, topic), topic):
                self._send(topic, at_ms, row)
        self._flush()
        self._thread.start()
        return self

    def _write(self) -> None:
        began = time.monotonic()
        weather, flights = (_rows(getattr(self._year, t), t) for t in ("weather", "flights"))
        report = next(weather)
        for at_ms, row in flights:
            while report[0] <= at_ms:
                self._send("weather", *report)
                report = next(weather)
            self._send("flights", at_ms, row)
            self.at_ms, self.written = at_ms, self.written + 1
            while self.written > (time.monotonic() - began) * self._rate:
                self._producer.poll(0.005)
            if self._ended.is_set():
                break

    def _send(self, topic: str, at_ms: int, row: dict[str, Any]) -> None:
        key = row[_KEYS[topic]] if topic in _KEYS else None
        told = json.dumps({name: row[name] for name in _COLUMNS[topic]})
        self._producer.produce(topic, told, key, partition=0, timestamp=at_ms)
        self._producer.poll(0)

    def _flush(self) -> None:
        assert self._producer.flush(_FLUSH_SECONDS) == 0

    def __exit__(self, *_: object) -> None:
        """What is waited for by the join is due: time has advanced by its grace."""
        assert self._thread.is_alive() or self._ended.is_set(), "the year was too short"
        self._ended.set()
        self._thread.join()
        for at_ms, row in _rows(prepare.after(self._year.weather), "weather"):
            self._send("weather", at_ms, row)
        self._flush()


def _rows(table: pa.Table, topic: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row with its time in ms."""
    names = {*_COLUMNS[topic], *([_KEYS[topic]] if topic in _KEYS else [])}
    times = table["at"].cast(pa.int64()).to_pylist()
    rows = (row for batch in table.select([*names]).to_batches(10_000) for row in batch.to_pylist())
    return zip(times, rows, strict=True)


# -- what must come out of them --------------------------------------------------------------------

_CONTEXT = """
    SELECT f.tailnum, f.origin, f.dest, f.dep_delay, f.arr_delay, a.name AS airline, w.wind_speed,
           CASE WHEN wind_speed >= 30 THEN '30 mph or more'
                WHEN wind_speed >= 20 THEN '20 to 30 mph'
                WHEN wind_speed >= 10 THEN '10 to 20 mph'
                WHEN wind_speed >= 0 THEN 'under 10 mph'
                ELSE 'not reported' END AS wind,
           coalesce(split_part(p.manufacturer, ' ', 1), 'unknown') AS manufacturer,
           CASE WHEN p.year <= 1993 THEN '20 years or more'
                WHEN p.year <= 2003 THEN '10 to 20 years'
                WHEN p.year > 2003 THEN 'under 10 years'
                ELSE 'unknown' END AS age
    FROM flights f
    LEFT JOIN weather w ON f.origin = w.origin AND f.hour = w.hour
    LEFT JOIN airlines a ON f.carrier = a.key
    LEFT JOIN planes p ON f.tailnum = p.key
"""
_TABLES = {
    "DELAY_BY_CARRIER_AND_HOUR": """
        SELECT carrier, hour, count(*), count(dep_delay), coalesce(avg(dep_delay), 0.0),
               max(dep_delay)
        FROM flights GROUP BY carrier, hour""",
    "DELAY_BY_ROUTE": """
        SELECT origin, dest, count(*), count(arr_delay), coalesce(avg(arr_delay), 0.0)
        FROM flights GROUP BY origin, dest""",
    "DELAY_BY_AIRLINE_AND_WIND": """
        SELECT airline, wind, count(*), count(dep_delay), coalesce(avg(dep_delay), 0.0)
        FROM context GROUP BY airline, wind""",
    "DELAY_BY_PLANE": """
        SELECT manufacturer, age, count(*), count(arr_delay), coalesce(avg(arr_delay), 0.0)
        FROM context GROUP BY manufacturer, age""",
}
_CELLS = {
    "DELAY_BY_CARRIER_AND_HOUR": ("FLIGHTS", "DEPARTED", "AVERAGE_DELAY", "LONGEST_DELAY"),
    "DELAY_BY_ROUTE": ("FLIGHTS", "ARRIVED", "AVERAGE_DELAY"),
    "DELAY_BY_AIRLINE_AND_WIND": ("FLIGHTS", "DEPARTED", "AVERAGE_DELAY"),
    "DELAY_BY_PLANE": ("FLIGHTS", "ARRIVED", "AVERAGE_DELAY"),
}
_JOINED = (
    *("ORIGIN", "DEST", "DEP_DELAY", "ARR_DELAY", "AIRLINE"),
    *("WIND_SPEED", "WIND", "MANUFACTURER", "AGE"),
)


def problems(topics: Topics) -> list[str]:
    """What is wrong in the sinks: rows lost, rows doubled, cells of tables, counts that go back."""
    with duckdb.connect() as duck:
        for name in INPUTS:
            duck.register(name, _input(topics[name], name))
        duck.sql(f"CREATE TABLE context AS {_CONTEXT}")
        found = Counter(_joined(record) for record in topics["FLIGHTS_IN_CONTEXT"])
        wanted = Counter(_rounded(row) for row in duck.sql("FROM context").fetchall())
        lines = _differences("FLIGHTS_IN_CONTEXT", found, wanted)
        for name, sql in _TABLES.items():
            last = {record.key: record for record in topics[name]}
            cells = Counter(_cells(record, name) for record in last.values())
            rows = Counter(_rounded(row) for row in duck.sql(sql).fetchall())
            lines += [*_differences(name, cells, rows), *_going_back(name, topics[name])]
    return lines


def _input(records: Sequence[Record], name: str) -> pa.Table:
    rows = [value(record) for record in records]
    columns = {column: [row[column] for row in rows] for column in _COLUMNS[name]}
    keys = [record.key and record.key.decode() for record in records]
    hours = [(record.timestamp or 0) // _HOUR_MS * _HOUR_MS for record in records]
    return pa.table({**columns, "key": pa.array(keys, pa.string()), "hour": hours})


def _joined(record: Record) -> tuple[Any, ...]:
    row = value(record)
    return _rounded((record.key and record.key.decode(), *(row[name] for name in _JOINED)))


def _cells(record: Record, name: str) -> tuple[Any, ...]:
    row, key = value(record), record.key or b""
    if name == "DELAY_BY_CARRIER_AND_HOUR":
        group: tuple[Any, ...] = (key[:-8].decode(), int.from_bytes(key[-8:], "big"))
    else:
        group = tuple(json.loads(key).values())
    return _rounded((*group, *(row[cell] for cell in _CELLS[name])))


def _rounded(row: Sequence[Any]) -> tuple[Any, ...]:
    """Averages may differ in their last digits."""
    return tuple(round(cell, 9) if isinstance(cell, float) else cell for cell in row)


def _differences(name: str, found: Counter[Any], wanted: Counter[Any]) -> list[str]:
    def told(rows: Counter[Any], what: str) -> list[str]:
        return [f"{name}: {rows.total()} rows {what}, as {[*rows][:3]}"] if rows else []

    return [*told(wanted - found, "lost"), *told(found - wanted, "too many")]


def _going_back(name: str, records: Sequence[Record]) -> list[str]:
    last: dict[bytes | None, int] = {}
    wrong = 0
    for record in records:
        count = value(record)["FLIGHTS"]
        wrong += count < last.get(record.key, 0)
        last[record.key] = count
    return [f"{name}: {wrong} values went back"] if wrong else []
