"""`streamsql plan`: files beside the log of a data folder. tests/cases/plans."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from datadriven import Case, cases, check
from statements.world import World

from streamsql.cli.main import main
from streamsql.log.entries import Entry, FileLog

SOURCE = (
    "CREATE STREAM s (k STRING KEY, v INT)"
    " WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);\n"
)


def data_folder(path: Path, sql: str) -> Path:
    """One whose engine has run the statements."""
    world, log = World(), FileLog(path / "statements.log")
    world.shell(sql)
    for entry in world.entries:
        log.append(entry)
    log.close()
    return path


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
    assert time.process_time() - began < 2.0
    assert capsys.readouterr().out.endswith("1 changed.\n")
