"""The examples of docs/sql.md, of the quick start and of other pages pass `streamsql check`, in
their order; those marked as rejected do not, one by one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streamsql.api.checking import NamedText, check

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
LOOKUPS = PAGE.with_name("lookups.md")
VIEWS = PAGE.with_name("views.md")
LAKES = PAGE.with_name("iceberg-tables.md")
_BLOCK = re.compile(r'^```sql( title="rejected")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def _no_file(path: str) -> str:
    raise AssertionError(f"the page runs no scripts: {path}")


def _errors(sql: str) -> list[str]:
    found = check(NamedText("sql.md", sql), {}, {}, _no_file)
    return [error.message for error, _ in found.errors]


@pytest.mark.parametrize(
    ("page", "least"),
    [(PAGE, 10), (PAGE.with_name("README.md"), 2), (LOOKUPS, 2), (VIEWS, 4), (LAKES, 1)],
)
def test_examples_pass(page: Path, least: int) -> None:
    blocks = [block[2] for block in _BLOCK.finditer(page.read_text("utf-8")) if not block[1]]
    assert len(blocks) >= least
    assert not _errors("\n".join(blocks))


@pytest.mark.parametrize(("page", "least"), [(PAGE, 6), (LOOKUPS, 3), (VIEWS, 2), (LAKES, 2)])
def test_what_is_rejected_is_rejected(page: Path, least: int) -> None:
    accepted = ""
    rejected = 0
    for block in _BLOCK.finditer(page.read_text("utf-8")):
        if not block[1]:
            accepted += block[2]
            continue
        for statement in block[2].split(";\n")[:-1]:
            assert len(_errors(f"{accepted}{statement};")) == 1, statement
            rejected += 1
    assert rejected >= least
