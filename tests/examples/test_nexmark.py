"""Nexmark's queries on real Kafka and Spark, row by row against DuckDB over the same events, those
with patterns against plain Python: with events that are there before, and live."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pytest
from awaiting import await_until
from nexmark_answers import ANSWERS, SIDE, VIEW_ANSWERS, answers
from nexmark_matches import MATCHES, matches

from benchmarks.nexmark_events import START, last_bid, write_last_bid
from streamsql.engine import Engine, QueryState
from streamsql.kafka.client import KafkaClient
from streamsql.load import NEXMARK, NEXMARK_COLUMNS, GenerateSpec, generate_nexmark
from streamsql.load.nexmark import events, topic_of
from streamsql.results import Answer

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

FOLDER = Path(__file__).parents[2] / "examples" / "nexmark"
QUICK = ("q4", "q8")
"""Of all others the slow tests see to it."""
FEW, MANY = 3_000, int(os.environ.get("NEXMARK_EVENTS", "1000000"))
LIVE = int(os.environ.get("NEXMARK_LIVE_EVENTS", "100000"))
RATE = 1_000
SECONDS, EVENTS_PER_SECOND = 120.0, 2_000
"""A query has so long, and more for many events."""

Run = Callable[[str], None]
_CREATED = re.compile(
    r"^CREATE (STREAM|TABLE|SOURCE TABLE|SINK|MATERIALIZED VIEW) (\w+)( .*?AS\b)?", re.MULTILINE
)
_VIEWS_TEXT = (FOLDER / "views.sql").read_text("utf-8")
VIEWS = {
    found[1]: found[0]
    for found in re.finditer(r"^CREATE MATERIALIZED VIEW (\w+)[^;]*;", _VIEWS_TEXT, re.MULTILINE)
}
VIEW_SOURCES = _VIEWS_TEXT.partition("CREATE MATERIALIZED VIEW")[0]
"""What the views need beyond the streams of sources.sql."""
QUICK_VIEWS = ("q6", "q11", "q13")
"""What no other test of views has: rows of a join ranked and then averaged, sessions by window
functions, and a plain table that INSERT .. SELECT fills."""


class House:
    """An auction house: its events in topics of its own, and in DuckDB."""

    def __init__(self, engine: Engine, kafka: KafkaClient, run: Run, count: int, folder: Path):
        self.engine, self._kafka, self._run = engine, kafka, run
        self._prefix, self._folder = f"nexmark{count}", folder
        self._count, self._seconds = count, SECONDS + count / EVENTS_PER_SECOND
        # A match that time alone decides is written when the second batch ends.
        run("SET 'processing.commit.interval.ms' = '10000';")
        self._write(self._prefix)
        side = "".join(f"{n},value {n}\n" for n in range(SIDE))
        (folder / "side_input.csv").write_text(f"key,looked_up\n{side}", "utf-8")
        self.expected: duckdb.DuckDBPyConnection = answers(self.events(), folder)

    def _write(self, prefix: str) -> None:
        spec = GenerateSpec(NEXMARK, prefix, RATE, self._count, seed=1, start=START)
        generate_nexmark(spec, self._kafka, lambda _: None)
        write_last_bid(self._kafka, prefix, last_bid(self._count, RATE))

    def events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What is in the topics."""
        made = events(1, 0, self._count, lambda number: START + number * 1000 // RATE)
        return chain(made, [("bid", last_bid(self._count, RATE))])

    @contextmanager
    def _running(self, text: str, prefix: str) -> Iterator[None]:
        """The statements over the topics of this prefix."""
        text = (FOLDER / "sources.sql").read_text("utf-8") + text
        text = text.replace("'nexmark-", f"'{prefix}-")
        self._run(text.replace("'/tmp/nexmark/", f"'{self._folder}/"))
        try:
            yield
        finally:
            for kind, made, query in reversed(_CREATED.findall(text)):
                topic = " DELETE TOPIC" if query and kind in ("STREAM", "TABLE") else ""
                self._run(f"DROP {kind.removeprefix('SOURCE ')} {made}{topic};")

    def _runs(self) -> bool:
        return all(query.state is QueryState.RUNNING for query in self.engine.queries())

    def _caught_up(self) -> bool:
        """Looked at before the rows are: to read them all again and again takes what the query
        needs."""
        return self._runs() and all(query.lag == 0 for query in self.engine.queries())

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

    def check(self, name: str, *, live: bool = False) -> None:
        """That the query gives what is expected: of events that are there, or that come while it
        runs."""
        if name in MATCHES:
            columns = f"auction, bidder, {MATCHES[name].columns}"
            expected: Iterable[tuple[Any, ...]] = matches(MATCHES[name], self.events())
        else:
            columns, sql = ANSWERS[name]
            expected = self.expected.execute(sql).fetchall()
        text = (FOLDER / f"{name}.sql").read_text("utf-8")
        try:
            self._check(name, text, columns, expected, live=live)
        finally:
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def check_view(self, name: str, *, live: bool = False) -> None:
        """The same of the query as a materialized view."""
        columns, sql = VIEW_ANSWERS[name]
        expected = self.expected.execute(sql).fetchall()
        self._check(name, VIEW_SOURCES + VIEWS[name], columns, expected, live=live)

    def _check(
        self,
        name: str,
        text: str,
        columns: str,
        expected: Iterable[tuple[Any, ...]],
        *,
        live: bool,
    ) -> None:
        wanted = Counter(tuple(map(_plain, row)) for row in expected)
        assert wanted
        if not live:
            with self._running(text, self._prefix):
                self._compare(name, text, columns, wanted)
            return
        prefix = f"{self._prefix}-{name}"
        topics = [topic_of(prefix, kind) for kind in NEXMARK_COLUMNS]
        for topic in topics:
            self._kafka.create_topic(topic)
        with self._running(text, prefix):
            await_until(self._runs, f"{name} to run", SECONDS, every=0.1)
            self._write(prefix)
            self._compare(name, text, columns, wanted)
        self._kafka.delete_topics(topics)

    def _compare(
        self, name: str, text: str, columns: str, wanted: Counter[tuple[Any, ...]]
    ) -> None:
        rows: Counter[tuple[Any, ...]] = Counter()

        def equal() -> bool:
            nonlocal rows
            if self._caught_up():
                rows = self.rows(name, columns)
            return rows == wanted

        try:
            await_until(equal, name, self._seconds, every=1)
        except AssertionError as error:
            lacks, more = wanted - rows, rows - wanted
            raise AssertionError(
                f"{name}: lacks {lacks.total()} rows, such as {[*lacks][:3]}, "
                f"has {more.total()} more, such as {[*more][:3]}"
            ) from error
        if "CREATE SINK" in text:
            in_files = f"the files of {name}"
            await_until(lambda: self.in_files(name, columns) == wanted, in_files, SECONDS, every=1)


def _plain(value: Any) -> Any:
    """Equal for what is equal in either engine."""
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
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
) -> House:
    return House(engine, kafka, run, request.param, tmp_path_factory.mktemp("nexmark"))


@pytest.mark.parametrize(
    "name", [q if q in QUICK else pytest.param(q, marks=pytest.mark.slow) for q in ANSWERS]
)
def test_the_answer_is_duckdbs(house: House, name: str) -> None:
    house.check(name)


@pytest.mark.parametrize(
    "name", [q if q in QUICK_VIEWS else pytest.param(q, marks=pytest.mark.slow) for q in VIEWS]
)
def test_the_view_is_duckdbs_answer(house: House, name: str) -> None:
    house.check_view(name)


@pytest.mark.parametrize("name", MATCHES)
def test_matches_are_those_of_backtracking(house: House, name: str) -> None:
    house.check(name)


@pytest.mark.slow
@pytest.mark.parametrize("house", [LIVE], indirect=True, scope="module")
@pytest.mark.parametrize("name", [*ANSWERS, *MATCHES])
def test_the_answer_is_the_same_live(house: House, name: str) -> None:
    house.check(name, live=True)


@pytest.mark.slow
@pytest.mark.parametrize("house", [LIVE], indirect=True, scope="module")
@pytest.mark.parametrize("name", VIEWS)
def test_the_view_is_the_same_live(house: House, name: str) -> None:
    house.check_view(name, live=True)


def test_every_query_is_checked() -> None:
    assert set(VIEWS) == set(VIEW_ANSWERS) == {f"q{number}" for number in range(24)}
    assert {path.stem for path in FOLDER.glob("q*.sql")} == set(ANSWERS)
    assert {path.stem for path in FOLDER.glob("cep*.sql")} == set(MATCHES)
