"""sqllogictest: how files are read, and what is compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from streamsql.errors import ConfigError, PlanError
from streamsql.testing.slt.records import read
from streamsql.testing.slt.run import Outcome, differences

ROWS = (("1", "a b"), ("3", None), ("2", ""))
KNOWN: Mapping[str, Outcome] = {
    "SELECT": Outcome(ROWS),
    "NONE": Outcome(),
    "CHANGE": Outcome(count=2),
    "COLUMN": Outcome(((None,), ("1",), ("1",))),
}


class Known:
    """Answers by the first word; a statement with another one fails."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def run(self, sql: str) -> Outcome:
        self.asked.append(sql)
        word = sql.split()[0]
        if word not in KNOWN:
            raise PlanError(f"no {word} here")
        return KNOWN[word]


def _differences(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "x.slt"
    path.write_text(text, "utf-8")
    return differences(read(path), Known())


PASSING = {
    "rows": "query IT\nSELECT 1\n----\n1 a b\n3 NULL\n2 (empty)\n",
    "sorted rows": "query IT rowsort\nSELECT 1\n----\n3   NULL\n1 a   b\n2 (empty)\n",
    "sorted by the file": "control sortmode rowsort\n\nquery IT\nSELECT 1\n----\n3 NULL\n"
    "1 a b\n2 (empty)\n",
    "a value a line": "query IT\nSELECT 1\n----\n1\na b\n3\nNULL\n2\n(empty)\n",
    "sorted values": "query IT valuesort\nSELECT 1\n----\n(empty)\n1\n2\n3\nNULL\na b\n",
    "sorted values of one column": "query I valuesort\nCOLUMN\n----\n1\n1\nNULL\n",
    "no rows": "query T\nNONE\n----\n\nstatement ok\nNONE\n",
    "a count": "statement count 2\nCHANGE it\n",
    "an error": "statement error no .* here\nFAIL\n",
    "an error of a query": "query error\nFAIL\n",
    "the message behind": "statement error\nFAIL\n----\ndb error\n\nCaused by:\n  x\n\n\n"
    "statement ok\nNONE\n",
    "skipped": "skipif streamsql\nstatement ok\nFAIL\n\nonlyif mysql\nquery I\nFAIL\n----\n9\n",
    "taken": "onlyif postgresql\nstatement ok\nNONE\n",
    "ended": "halt\n\nstatement ok\nFAIL\n",
}


@pytest.mark.parametrize("text", PASSING.values(), ids=PASSING)
def test_what_passes(tmp_path: Path, text: str) -> None:
    assert _differences(tmp_path, text) == []


FAILING = {
    "rows": ("query I\nSELECT 1\n----\n1\n", "- 1"),
    "order": ("query IT\nSELECT 1\n----\n3 NULL\n1 a b\n2 (empty)\n", "- 3 NULL"),
    "a count": ("statement count 3\nCHANGE it\n", "2 rows instead of 3"),
    "no error": ("statement error\nNONE\n", "no error"),
    "another error": ("statement error xyz\nFAIL\n", "another error than 'xyz': no FAIL here"),
    "an error": ("statement ok\nFAIL\n", "no FAIL here"),
}


@pytest.mark.parametrize(("text", "line"), FAILING.values(), ids=FAILING)
def test_what_fails(tmp_path: Path, text: str, line: str) -> None:
    place, first, *_ = _differences(tmp_path, text)
    assert place.startswith(f"{tmp_path / 'x.slt'}:1: ")
    assert first == line


def test_hashed_values(tmp_path: Path) -> None:
    values = "".join(f"{value}\n" for value in ("1", "a b", "3", "NULL", "2", "(empty)"))
    digest = hashlib.md5(values.encode()).hexdigest()
    head = "query IT nosort\nSELECT 1\n----\n"
    assert _differences(tmp_path, f"{head}6 values hashing to {digest}\n") == []
    wrong = _differences(tmp_path, f"{head}6 values hashing to {'0' * 32}\n")
    assert wrong[1] == f"6 values hashing to {digest}"


def test_included_files(tmp_path: Path) -> None:
    (tmp_path / "a.part").write_text("statement ok\nNONE a\n")
    (tmp_path / "b.part").write_text("statement ok\nFAIL\n")
    found = _differences(tmp_path, "include *.part\n")
    assert found == [f"{tmp_path / 'b.part'}:1: FAIL", "no FAIL here"]


def test_what_is_not_of_the_format(tmp_path: Path) -> None:
    for text, message in (("foo\n", "foo is not known"), ("statement\nX\n", "ok, count or error")):
        with pytest.raises(ConfigError, match=message):
            _differences(tmp_path, text)
