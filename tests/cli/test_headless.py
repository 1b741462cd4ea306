"""What `streamsql server` refuses before it starts anything: a wrong file, a wrong folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsql.cli.main import main


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("CREATE STRAEM s;", "syntax error at line 1, column 8"),
        ("SHOW STREAMS;", "a queries file contains definitions and queries only"),
    ],
)
def test_a_queries_file_that_cannot_be_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sql: str, error: str
) -> None:
    file = tmp_path / "f.sql"
    file.write_text(sql)
    data = tmp_path / "data"
    assert main(["server", "--queries-file", str(file), "--data", str(data)]) == 1
    assert error in capsys.readouterr().err
    assert not data.exists()


def test_a_queries_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["server", "--queries-file", "nowhere.sql"]) == 2
    assert "cannot read nowhere.sql" in capsys.readouterr().err


def test_checkpoints_in_a_store_that_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    assert main(["server", "--checkpoints", "gs://bucket/flights", "--data", str(data)]) == 1
    assert "mount the storage on all servers" in capsys.readouterr().err
    assert not data.exists()
