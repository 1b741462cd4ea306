"""Finding tests: files, folders, pipelines with records beside them."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from streamsql.errors import ConfigError
from streamsql.testing.cases.load import load

TEST = {"name": "one", "statements": ["X;"], "outputs": [{"topic": "T", "value": 1}]}


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_file_of_tests(tmp_path: Path) -> None:
    path = write(tmp_path / "f.json", {"tests": [TEST, {**TEST, "name": "two"}]})
    assert [case.id for case in load([path])] == ["f/one", "f/two"]
    assert [case.id for case in load([path], "two")] == ["f/two"]


def test_a_script_in_place_of_statements(tmp_path: Path) -> None:
    write(tmp_path / "p.sql", "A; B;")
    path = write(tmp_path / "f.json", {"tests": [{"name": "x", "script": "p.sql"}]})
    (case,) = load([path])
    assert case.statements == ("A; B;",)


def test_a_pipeline_with_records_beside_it(tmp_path: Path) -> None:
    path = write(tmp_path / "p.sql", "A;")
    write(tmp_path / "p.inputs.json", {"inputs": [{"topic": "in", "value": 1.5}]})
    write(tmp_path / "p.outputs.json", [{"topic": "T", "value": 2}])
    (case,) = load([path])
    assert (case.id, case.output_topics) == ("p", ("T",))
    assert case.inputs[0]["value"] == Decimal("1.5")


def test_a_folder_holds_both_and_more(tmp_path: Path) -> None:
    write(tmp_path / "a" / "f.json", {"tests": [TEST]})
    write(tmp_path / "p.sql", "A;")
    write(tmp_path / "p.outputs.json", {"outputs": []})
    write(tmp_path / "q.sql", "no test")
    write(tmp_path / "settings.json", {"x": 1})
    assert [case.id for case in load([tmp_path])] == ["f/one", "p"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.json", None, "does not exist"),
        ("p.sql", "A;", "no expected records"),
        ("f.json", "{", "is not JSON"),
        ("f.json", {"x": 1}, "not a file of tests"),
        ("f.json", {"tests": [{"name": "x"}]}, "lacks 'statements'"),
        ("f.json", {"tests": [{**TEST, "outputs": [{}]}]}, "lacks 'topic'"),
        ("f.json", {"tests": [1]}, "malformed"),
        ("f.json", {"tests": [{"name": "x", "script": "no.sql"}]}, "cannot read"),
    ],
)
def test_what_is_no_test(tmp_path: Path, name: str, content: Any, message: str) -> None:
    path = tmp_path / name if content is None else write(tmp_path / name, content)
    with pytest.raises(ConfigError, match=message):
        load([path])


def test_rejections_and_needs(tmp_path: Path) -> None:
    tests = [
        {**TEST, "expectedException": {"type": "X", "message": "no"}},
        {**TEST, "needs": ["test-function:F"]},
        {**TEST, "enabled": False},
        {**TEST, "properties": {"a": True, "b": 1}},
    ]
    rejected, needy, disabled, plain = load([write(tmp_path / "f.json", {"tests": tests})])
    assert rejected.expected_messages == ("no",)
    assert (needy.needs, disabled.needs) == (("test-function:F",), ("to be enabled",))
    assert (plain.expected_messages, plain.properties) == (None, {"a": "true", "b": "1"})
