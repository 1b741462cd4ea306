"""The cache of the grammar's tables: used when good, never in the way; and what loading costs."""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from lark import Lark

from streamsql.parser import loader
from streamsql.parser.script import BUILDERS, parse

compile_once = functools.cache(loader._compile)


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """How often the grammar was compiled; the real thing takes a second, so it is done once."""
    calls: list[object] = []

    def compile_(transformer: object) -> Lark:
        calls.append(transformer)
        return compile_once(BUILDERS)

    monkeypatch.setattr(loader, "_compile", compile_)
    return calls


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("STREAMSQL_CACHE", str(folder))
    return folder


def _load() -> None:
    """Loads the grammar again, past the memory of this process, and uses it."""
    lark = loader.load.__wrapped__(BUILDERS)
    parser: Any = lark.parse_interactive("", start="type")
    assert {"IDENTIFIER", "ARRAY"} <= parser.accepts()


def test_the_tables_are_kept_and_read_again(cache: Path, compilations: list[object]) -> None:
    _load()
    (kept,) = cache.iterdir()
    _load()
    assert len(compilations) == 1
    assert list(cache.iterdir()) == [kept]


@pytest.mark.parametrize("damage", [b"", b"garbage", b"\x80\x05}."])
def test_a_broken_cache_is_made_again(
    cache: Path, compilations: list[object], damage: bytes
) -> None:
    _load()
    (kept,) = cache.iterdir()
    kept.write_bytes(damage)
    _load()
    assert len(compilations) == 2
    _load()
    assert len(compilations) == 2
    assert list(cache.iterdir()) == [kept]


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_another_user_may_have_written_is_not_unpickled(
    cache: Path, compilations: list[object], mode: int
) -> None:
    _load()
    (kept,) = cache.iterdir()
    kept.write_bytes(pickle.dumps(Planted()))
    kept.chmod(mode)
    _load()
    assert Planted.ran == 0 and len(compilations) == 2
    assert kept.stat().st_mode & 0o777 == 0o600, "it is made again"
    _load()
    assert len(compilations) == 2


def test_a_file_of_another_user_is_not_unpickled(
    cache: Path, compilations: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    _load()
    (kept,) = cache.iterdir()
    kept.write_bytes(pickle.dumps(Planted()))
    found = os.fstat

    def of_another(file: int) -> os.stat_result:
        mode, inode, device, links, user, *rest = found(file)
        return os.stat_result((mode, inode, device, links, user + 1, *rest))

    monkeypatch.setattr(os, "fstat", of_another)
    _load()
    assert Planted.ran == 0 and len(compilations) == 2


class Planted:
    """Runs code where it is unpickled."""

    ran = 0

    def __reduce__(self) -> tuple[object, ...]:
        return setattr, (Planted, "ran", 1)


def test_a_folder_that_cannot_be_made_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compilations: list[object]
) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    monkeypatch.setenv("STREAMSQL_CACHE", str(occupied / "cache"))
    _load()
    assert len(compilations) == 1


def test_a_file_that_cannot_be_replaced_is_no_error(
    cache: Path, compilations: list[object]
) -> None:
    cache.mkdir()
    loader._cache_file().mkdir()
    _load()
    assert list(cache.iterdir()) == [loader._cache_file()]


def test_a_script_of_1000_lines_parses_in_under_a_second() -> None:
    statement = (
        "CREATE TABLE per_user WITH (kafka_topic='x', key_format='JSON') AS\n"
        "  SELECT userid, COUNT(*) AS n, SUM(x->y[1] * 2 + 1) AS s,\n"
        "    CASE WHEN a > 1 THEN 'x' ELSE UCASE(b) END AS c -- a comment\n"
        "  FROM pageviews v\n"
        "  LEFT JOIN users u WITHIN 1 HOUR ON v.userid = u.id\n"
        "  WINDOW TUMBLING (SIZE 1 MINUTE)\n"
        "  WHERE v.pageid LIKE 'Page%' AND NOT u.id IS NULL\n"
        "  GROUP BY userid\n"
        "  EMIT CHANGES;\n"
        "\n"
    )
    script = statement * 100
    parse("SHOW STREAMS;")
    start = time.process_time()
    assert len(parse(script)) == 100
    assert time.process_time() - start < 1


def test_the_parser_imports_neither_spark_nor_kafka_nor_the_shell() -> None:
    code = (
        "import sys, streamsql.parser as p; p.parse('SHOW STREAMS;');"
        "print([m for m in ('pyspark', 'confluent_kafka', 'prompt_toolkit') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
