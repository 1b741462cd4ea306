"""Nexmark's queries on real Kafka and Spark, row by row against DuckDB over the same events, those
with patterns against plain Python."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from awaiting import await_until
from nexmark_answers import ANSWERS, SIDE, answers
from nexmark_matches import MATCHES, matches

from streamsql.engine import Engine
from streamsql.kafka.client import KafkaClient
from streamsql.load import GenerateSpec, generate_nexmark
from streamsql.load.nexmark import events
from streamsql.results import Answer

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

FOLDER = Path(__file__).parents[2] / "examples" / "nexmark"
QUICK = ("q4", "q8")
"""Of all others the slow tests see to it."""
FEW, MANY = 3_000, int(os.environ.get("NEXMARK_EVENTS", "1000000"))
START = 1_700_000_000_000
RATE = 1_000
SECONDS = 120.0

Run = Callable[[str], None]
_CREATED = re.compile(r"^CREATE (STREAM|TABLE|SOURCE TABLE|SINK) (\w+)", re.MULTILINE)


class House:
    """An auction house: its events in topics of its own, and in DuckDB."""

    def __init__(self, engine: Engine, kafka: KafkaClient, run: Run, count: int, folder: Path):
        self.engine, self._run = engine, run
        self._prefix, self._folder = f"nexmark{count}", folder
        spec = GenerateSpec("nexmark", self._prefix, RATE, count, seed=1, start=START)
        generate_nexmark(spec, kafka, lambda _: None)
        side = "".join(f"{n},value {n}\n" for n in range(SIDE))
        (folder / "side_input.csv").write_text(f"key,looked_up\n{side}", "utf-8")
        self._count = count
        self.expected: duckdb.DuckDBPyConnection = answers(self.events(), folder)
        self.execute("sources")

    def events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What is in the topics."""
        return events(1, 0, self._count, lambda number: START + number * 1000 // RATE)

    def execute(self, name: str) -> str:
        """Run a file; its text."""
        text = (FOLDER / f"{name}.sql").read_text("utf-8")
        text = text.replace("'nexmark-", f"'{self._prefix}-")
        self._run(text.replace("'/tmp/nexmark/", f"'{self._folder}/"))
        return text

    def rows(self, name: str, columns: str) -> Counter[tuple[Any, ...]]:
        groups = f" GROUP BY {columns.split(',')[0]}" if "SUM(" in columns else ""
        (answer,) = self.engine.execute(f"SELECT {columns} FROM {name}{groups};")
        assert isinstance(answer, Answer)
        return Counter(tuple(map(_plain, row.values)) for row in answer.rows)

    def in_files(self, name: str, columns: str) -> Counter[tuple[Any, ...]]:
        """What a sink has written into the folder of the query's name."""
        files = f"{self._folder}/{name}/**/*.parquet"
        if not any(self._folder.glob(f"{name}/**/*.parquet")):
            return Counter()
        found = f"read_parquet('{files}', hive_partitioning = true, hive_types_autocast = false)"
        rows = duckdb.execute(f"SELECT {columns} FROM {found}").fetchall()
        return Counter(tuple(map(_plain, row)) for row in rows)

    def check(self, name: str) -> None:
        columns, sql = ANSWERS[name]
        self._check(name, columns, self.expected.execute(sql).fetchall())

    def check_matches(self, name: str) -> None:
        columns = f"auction, bidder, {MATCHES[name].columns}"
        self._check(name, columns, matches(MATCHES[name], self.events()))

    def _check(self, name: str, columns: str, expected: Iterable[tuple[Any, ...]]) -> None:
        wanted = Counter(tuple(map(_plain, row)) for row in expected)
        assert wanted
        text = self.execute(name)
        try:
            await_until(lambda: self.rows(name, columns) == wanted, name, SECONDS, every=1)
            if "CREATE SINK" in text:
                await_until(lambda: self.in_files(name, columns) == wanted, name, SECONDS, every=1)
        finally:
            for kind, made in reversed(_CREATED.findall(text)):
                topic = " DELETE TOPIC" if kind in ("STREAM", "TABLE") else ""
                self._run(f"DROP {kind.removeprefix('SOURCE ')} {made}{topic};")

    def close(self) -> None:
        for name in ("person", "auction", "bid"):
            self._run(f"DROP STREAM {name} CASCADE;")


def _plain(value: Any) -> Any:
    """Equal for what is equal in either engine."""
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    if isinstance(value, float | Decimal):
        return float(f"{value:.9g}")
    return value


@pytest.fixture(scope="module", params=[FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def house(
    engine: Engine,
    kafka: KafkaClient,
    run: Run,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[House]:
    house = House(engine, kafka, run, request.param, tmp_path_factory.mktemp("nexmark"))
    yield house
    house.close()


@pytest.mark.parametrize(
    "name", [q if q in QUICK else pytest.param(q, marks=pytest.mark.slow) for q in ANSWERS]
)
def test_the_answer_is_duckdbs(house: House, name: str) -> None:
    house.check(name)


@pytest.mark.parametrize("name", MATCHES)
def test_matches_are_those_of_backtracking(house: House, name: str) -> None:
    house.check_matches(name)


def test_every_query_is_checked() -> None:
    assert {path.stem for path in FOLDER.glob("q*.sql")} == set(ANSWERS)
    assert {path.stem for path in FOLDER.glob("cep*.sql")} == set(MATCHES)
