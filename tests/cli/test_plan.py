"""`streamsql plan`: files beside the log of a data folder. tests/cases/plans."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from client.servers import OfflineEngine, running
from datadriven import Case, cases, check
from statements.world import World, data_folder

from streamsql.api.catalogs import decode_catalog, encode_catalog
from streamsql.api.changing import ChangePlan, plan_of_server
from streamsql.cli.main import main
from streamsql.log.entries import Entry, FileLog
from streamsql.run_script import NamedText
from streamsql.status import QueryInfo, QueryState

SOURCE = (
    "CREATE STREAM s (k STRING KEY, v INT)"
    " WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);\n"
)


@pytest.mark.parametrize("case", cases("plans"))
def test_plan(
    case: Case,
    tmp_path: Path,
    rewrite: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def planned(case: Case) -> str:
        monkeypatch.chdir(tmp_path)
        runs, *files = case.input.removeprefix("-- runs\n").split("\n-- ")
        data_folder(tmp_path, runs)
        Path("files").mkdir()
        for file in files:
            name, _, sql = file.partition("\n")
            Path("files", name).write_text(sql + "\n")
        options = ["--prune"] if "prune" in case.args else []
        code = main(["plan", "files", "--data", str(tmp_path), *options])
        found = capsys.readouterr()
        return f"{found.out}{found.err}exit code {code}"

    check(case, {"plan": planned}, rewrite)


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;\n"
    data_folder(tmp_path, SOURCE + query)
    file = tmp_path / "pipeline.sql"
    file.write_text(SOURCE + query.replace("n FROM", "n, LEN(k) AS l FROM"))
    assert main(["plan", "--json", str(file), "--data", str(tmp_path)]) == 2
    found = json.loads(capsys.readouterr().out)
    stream, table = found["changes"]
    assert (stream["action"], table["action"]) == ("unchanged", "changed")
    assert (table["change"], table["state"], table["reads"]) == (2, "kept", ["S"])
    assert table["parts"][0]["clause"] == "SELECT L"


def test_a_server_tells_its_catalog_and_its_queries(tmp_path: Path) -> None:
    table = "CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;\n"
    large = "CREATE STREAM large AS SELECT k, v FROM s WHERE v > 10;\n"
    insert = "INSERT INTO large SELECT k, v * 2 AS v FROM s;\n"
    world = World()
    world.shell(SOURCE + table + large + insert)
    catalog = decode_catalog(json.loads(json.dumps(encode_catalog(world.replay.catalog))))
    queries = [
        QueryInfo(
            id=query_id,
            kind="PERSISTENT",
            state=QueryState.RUNNING,
            mode="micro-batch",
            reason="it yields its task slots",
            lag=0,
            sql=known.definition.sql,
            sink=known.definition.sink,
            guarantee="at_least_once",
        )
        for query_id, known in world.replay.queries.items()
    ]

    def plan(sql: str) -> ChangePlan:
        return plan_of_server(catalog, queries, [NamedText("f.sql", sql)], {}, {}, False)

    assert plan(SOURCE + table + large + insert).exit_code == 0
    found = plan(SOURCE + table.replace("FROM s", "FROM s WHERE v > 1") + large + insert)
    assert [(item.name, item.change) for item in found.changes] == [("T", 4)]
    found = plan("SET 'processing.guarantee' = 'exactly_once';" + SOURCE + table + large + insert)
    assert [item.change for item in found.changes] == [1, 1, 1]


class WithQueries(OfflineEngine):
    """One that tells its queries too."""

    def queries(self) -> list[QueryInfo]:
        return self.offline.state.queries.infos()


def test_over_http(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "CREATE STREAM large AS SELECT k, v FROM s WHERE v > 10;\n"
    engine = WithQueries(data_folder(tmp_path, SOURCE + query))
    file = tmp_path / "pipeline.sql"
    with running(engine) as url:
        file.write_text(SOURCE + query)
        assert main(["plan", str(file), "--server", url]) == 0
        file.write_text(SOURCE + query.replace("10", "20"))
        assert main(["plan", str(file), "--server", url]) == 2
    engine.offline.close()
    assert "~ STREAM LARGE: class 2, continues from its checkpoint" in capsys.readouterr().out


def test_two_hundred_statements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "CREATE STREAM Q{0} AS SELECT K, V + {0} AS W FROM S WHERE V > {0};\n"
    queries = [query.format(n) for n in range(199)]
    log = FileLog(tmp_path / "statements.log")
    log.append(Entry(1, SOURCE.strip()))
    for n, sql in enumerate(queries):
        log.append(Entry(n + 2, sql.strip(), query_id=f"CSAS_Q{n}_{n}"))
    log.close()
    file = tmp_path / "pipeline.sql"
    file.write_text(SOURCE + "".join(queries).replace("V > 7;", "V > 8;"))
    began = time.process_time()
    assert main(["plan", str(file), "--data", str(tmp_path)]) == 2
    assert time.process_time() - began < 1.0
    assert capsys.readouterr().out.endswith("1 changed.\n")


@pytest.mark.parametrize(
    ("changed", "code", "said"),
    [
        ("n FROM", 0, "No changes"),
        ("n, LEN(k) AS l FROM", 1, "apply requires confirmation"),
        ("n, SUM(v) AS l FROM", 1, "reads again: s"),
        ("n, COUNT(*) AS m FROM", 1, "apply requires confirmation"),
    ],
)
def test_apply_looks_before_it_starts_an_engine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: str, code: int, said: str
) -> None:
    query = "CREATE TABLE t AS SELECT k, COUNT(*) AS {} s GROUP BY k;\n"
    data_folder(tmp_path, SOURCE + query.format("n FROM"))
    file = tmp_path / "pipeline.sql"
    file.write_text(SOURCE + query.format(changed))
    assert main(["apply", str(file), "--data", str(tmp_path)]) == code
    found = capsys.readouterr()
    assert said in found.out + found.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--undo"], "no changes have been applied, so there is nothing to undo"),
        ([], "give the files that are to be applied, or --undo, --promote or --discard alone"),
        (["--undo", "f.sql"], "or --undo, --promote or --discard alone"),
        (["--stage", "f.sql"], "only a server has something staged"),
        (["--promote"], "only a server has something staged"),
    ],
)
def test_what_was_applied_last_is_asked_for_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    data_folder(tmp_path, SOURCE)
    assert main(["apply", *arguments, "--data", str(tmp_path)]) == 1
    assert said in capsys.readouterr().err
