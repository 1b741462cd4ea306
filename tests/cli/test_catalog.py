"""`streamsql catalog export`, and what import looks at before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsql.api.checking import check_fits
from streamsql.catalog import Catalog
from streamsql.cli.main import main
from streamsql.errors import CatalogError, ConfigError, ParseError
from streamsql.log.entries import Entry, FileLog

STREAM = (
    "CREATE STREAM S (X INTEGER) WITH (KAFKA_TOPIC = 's', PARTITIONS = 1, VALUE_FORMAT = 'JSON');"
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder as an engine has left it."""
    log = FileLog(tmp_path / "statements.log")
    log.append(Entry(1, STREAM, topics={"s": None}))
    log.append(Entry(2, "CREATE STREAM T AS SELECT X FROM S;", query_id="CSAS_T_0"))
    log.append(Entry(3, "DROP STREAM T;"))
    log.close()
    return tmp_path


def test_export_to_standard_output(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "export", "--data", str(data)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("-- Catalog of streamsql ") and printed.endswith(f"\n\n{STREAM}\n")


def test_export_to_a_file(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "backup.sql"
    file.write_text("an older one")
    assert main(["catalog", "export", str(file), "--data", str(data)]) == 0
    assert STREAM in file.read_text()
    assert (
        main(["catalog", "export", str(tmp_path / "no" / "folder.sql"), "--data", str(data)]) == 2
    )


def test_export_of_a_service_whose_kafka_does_not_run(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "service").write_text("flights")
    assert main(["catalog", "export", "--data", str(data)]) == 1
    assert "the service flights are in Kafka, which is not running" in capsys.readouterr().err


def test_import_needs_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "import"]) == 1
    assert "needs a file" in capsys.readouterr().err


def test_a_file_is_looked_at_as_a_whole() -> None:
    catalog = Catalog()
    query = "SET 'auto.offset.reset' = 'latest'; CREATE STREAM T AS SELECT X FROM S;"
    check_fits(STREAM + query, catalog, {})
    assert catalog == Catalog(), "looking changes nothing"
    with pytest.raises(CatalogError, match="S does not exist"):
        check_fits(query + STREAM, catalog, {})
    with pytest.raises(CatalogError, match="already exists"):
        check_fits(STREAM + STREAM, catalog, {})
    with pytest.raises(ConfigError):
        check_fits(STREAM + "SET 'auto.offset.reset' = 'never';", catalog, {})
    with pytest.raises(ParseError):
        check_fits(STREAM + "CREATE STRAEM;", catalog, {})
