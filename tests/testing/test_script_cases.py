"""Files of SQL and the tests in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsql.errors import ConfigError
from streamsql.testing.cases.load import load
from streamsql.testing.cases.script_cases import script_cases

FILE = """-- tests of two things
--@test: one
DROP STREAM S;
----------
 --@test:  two
--@expected.error: some.Class
--@expected.message: no such
SELECT 1; -- not a --@test: three
"""


def test_a_file_is_split_at_its_directives() -> None:
    one, two = script_cases(FILE, "f", "d/f.sql")
    assert (one.id, one.name, one.expected_messages) == ("f/one", "one", None)
    assert (two.id, two.name, two.expected_messages) == ("f/two", "two", ("no such",))
    assert one.asserts and two.asserts
    assert "SELECT 1" not in one.statements[0]
    # Errors of a statement name its line in the file.
    assert two.statements[0].splitlines()[7].startswith("SELECT 1")


def test_an_error_without_a_message_is_any_error() -> None:
    (case,) = script_cases("--@test: x\n--@expected.error: some.Class\nSELECT 1;", "f", "f.sql")
    assert case.expected_messages == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--@test: x\n--@expected.warning: y\n", "f.sql:2: unknown directive expected.warning"),
        ("SELECT 1;\n--@test: x\n", "f.sql: there are statements before the first --@test"),
    ],
)
def test_malformed(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        script_cases(text, "f", "f.sql")


def test_folders_and_files(tmp_path: Path) -> None:
    (tmp_path / "tests.sql").write_text("--@test: x\nSELECT 1;\n")
    (tmp_path / "other.sql").write_text("SELECT 1;\n")
    assert [case.id for case in load([tmp_path])] == ["tests/x"]
    assert [case.id for case in load([tmp_path / "tests.sql"])] == ["tests/x"]
    with pytest.raises(ConfigError, match="is not a test") as caught:
        load([tmp_path / "other.sql"])
    assert "--@test: name" in (caught.value.hint or "")
