"""The sqllogictest files of tests/slt, each in a session of standard SQL on one engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsql.cli.subcommands.slt import run_files

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

FILES = sorted((Path(__file__).parents[1] / "slt").glob("*.slt"))


def test_the_files_pass() -> None:
    results = list(run_files(FILES, None, {}))
    assert [result.case.file for result in results] == list(map(str, FILES))
    said = [text for result in results for text in (result.error, *result.differences)]
    assert list(filter(None, said)) == []
