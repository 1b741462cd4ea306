"""What Nexmark's benchmark takes and shows, without a query."""

from __future__ import annotations

import json
import re
import time
from itertools import count
from pathlib import Path

import pytest

from benchmarks import nexmark, nexmark_rows
from benchmarks.flink.queries import QUERIES as FLINK_QUERIES
from benchmarks.flink.queries import script
from benchmarks.nexmark import FOLDER, all_queries, arguments
from benchmarks.nexmark_events import SEED, templates
from benchmarks.nexmark_rows import NOT_THERE, READS, Failed, Row, caught_up, failed, watch
from streamsql.catalog import Catalog
from streamsql.load.nexmark import events
from streamsql.parser import parse
from streamsql.planner.statements import apply, plan


def test_all_queries_are_measured_in_the_order_of_their_numbers() -> None:
    found = arguments().parse_args([]).queries
    assert found == [f"q{n}" for n in range(24)] + [f"cep{n}" for n in range(4)]
    files = {path.stem for path in FOLDER.glob("*.sql")}
    assert files - {"sources", "views"} == set(found) - NOT_THERE.keys()
    assert FLINK_QUERIES.keys() == set(found) - NOT_THERE.keys()


def test_some_queries_can_be_chosen() -> None:
    options = arguments().parse_args(["--queries", "q4,cep1", "--events", "1000", "--json"])
    assert (options.queries, options.events, options.json) == (["q4", "cep1"], 1000, True)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--queries", "q4,q99"], "no such query: q99"),
        (["--flink-jars", "/"], "no flink-dist*.jar"),
    ],
)
def test_what_is_wrong_is_reported(
    options: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        arguments().parse_args(options)
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(set(all_queries()) - NOT_THERE.keys()))
def test_events_that_count_are_those_that_are_read(name: str) -> None:
    catalog = Catalog()
    for file in ("sources", name):
        for statement in parse((FOLDER / f"{file}.sql").read_text("utf-8")):
            apply(plan(statement, catalog, {}), catalog)
    read = {source.lower() for query in catalog.queries.values() for source in query.reads}
    wanted = set(READS.get(name, ("bid",)))
    assert read & {"person", "auction", "bid"} == wanted
    assert all(re.search(rf"\b{kind}(_now)?\b", FLINK_QUERIES[name].select) for kind in wanted)


def test_flinks_script_ends_with_what_is_measured() -> None:
    text = script(FLINK_QUERIES["q13"], "kafka:1", "nexmark", "sink", Path("/files"))
    *made, insert = text.split("\n;\n")
    assert insert.startswith("INSERT INTO results SELECT")
    assert [line.split("(")[0].split()[-1] for line in made] == [
        "person",
        "auction",
        "bid",
        "side_input",
        "results",
    ]
    assert "'topic' = 'nexmark-bid'" in text and "file:///files/side_input.csv" in text


def test_events_of_now_are_those_of_the_generator_at_another_time() -> None:
    made = list(templates(30, 100))
    wanted = list(events(SEED, 30, 100, lambda _: 1234))
    assert [(each.kind, json.loads(each.at(1234))) for each in made] == wanted


def test_a_row_counts_to_the_last_change_of_what_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nexmark_rows, "_POLL_SECONDS", 0.001)
    monkeypatch.setattr(nexmark_rows, "_REST_SECONDS", 0.05)
    polls = count()
    begin = time.monotonic()
    found = watch(
        begin, lambda: (min(next(polls), 10),), lambda: next(polls) / 10, lambda: True, 60
    )
    assert found["results"] == 10 and 0 < found["seconds"] < time.monotonic() - begin - 0.05
    row = caught_up(Row("q4", "streamsql", 49), {"results": 5, "seconds": 2.0, "cpu_s": 7.0}, 14.0)
    assert (row.events_per_s, row.events_per_core, row.to_flink) == (24.5, 7.0, 0.5)
    assert failed(row, Failed("not\n so")).error == "not so"


def test_what_does_not_end_or_writes_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nexmark_rows, "_REST_SECONDS", 0.0)
    with pytest.raises(Failed, match="not done within 0 s: 3 results so far"):
        watch(time.monotonic(), lambda: (3,), lambda: 0.0, lambda: False, 0.2)
    with pytest.raises(Failed, match="no results"):
        watch(time.monotonic(), lambda: (0,), lambda: 0.0, lambda: True, 60)


def test_json_has_all_columns(capsys: pytest.CaptureFixture[str]) -> None:
    nexmark.show(failed(Row("q6", "flink", 10), NOT_THERE["q6"]), as_json=True)
    shown = json.loads(capsys.readouterr().out)
    assert shown.keys() == Row.__dataclass_fields__.keys()
    assert shown["error"] == NOT_THERE["q6"] and shown["p99_ms"] is None
