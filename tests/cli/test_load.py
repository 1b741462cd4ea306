"""What `load` makes of files: keys, values, times, types and errors. Kafka has no part in it."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from streamsql.cli.subcommands.data import create_stream
from streamsql.errors import ConfigError, ExternalError
from streamsql.load.blocks import Input, line_blocks
from streamsql.load.columnar import csv_chunks
from streamsql.load.loader import _READERS
from streamsql.load.spec import Columns, KeyColumn, LoadSpec
from streamsql.load.timestamps import timestamp_parser
from streamsql.parser import parse_one


class Loaded:
    """The records of a file."""

    def __init__(self, path: Path, **options: object) -> None:
        spec = LoadSpec(str(path), "t", **options)  # type: ignore[arg-type]
        columns = Columns()
        reader = _READERS[spec.resolved_input_format()]
        with Input(spec) as source:
            chunks = list(reader(source, spec, columns))
        self.values = [value for chunk in chunks for value in chunk.values]
        self.keys = [key for chunk in chunks for key in chunk.keys or ()]
        self.times = [time for chunk in chunks for time in chunk.timestamps or ()]
        self.skipped = sum(chunk.skipped for chunk in chunks)
        self.types = columns.types

    @property
    def rows(self) -> list[object]:
        return [json.loads(value) for value in self.values]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_keeps_the_kind_of_each_column(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "a.csv",
        "id,price,big,ok,zip,note\n"
        '1,1.50,12345678901,true,01234,"a ""b"", c"\n'
        "2,NA,2,FALSE,99999,\n",
    )
    loaded = Loaded(file)
    assert loaded.values[0] == (
        b'{"id":1,"price":1.50,"big":12345678901,"ok":true,"zip":"01234","note":"a \\"b\\", c"}'
    )
    assert loaded.rows[1] == {
        "id": 2,
        "price": None,
        "big": 2,
        "ok": False,
        "zip": "99999",
        "note": None,
    }
    assert list(loaded.types.values()) == ["INT", "DOUBLE", "BIGINT", "BOOLEAN", "STRING", "STRING"]


def test_a_number_column_that_turns_to_text_stays_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamsql.load.blocks.BLOCK_BYTES", 64)
    rows = "".join(f"{n}\n" for n in range(1000)) + "none\n"
    loaded = Loaded(write(tmp_path, "a.csv", "n\n" + rows))
    assert loaded.rows[-2:] == [{"n": 999}, {"n": "none"}]
    assert loaded.types == {"n": "STRING"}


def test_a_quoted_line_end_does_not_end_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamsql.load.blocks.BLOCK_BYTES", 7)
    file = write(tmp_path, "a.csv", 'a,b\n1,"x\ny"\n2,"z"\n')
    assert Loaded(file).rows == [{"a": 1, "b": "x\ny"}, {"a": 2, "b": "z"}]


QUOTES = [
    ('5" disk,1', ['5" disk', 1]),
    ('3.5" and 5.25",1', ['3.5" and 5.25"', 1]),
    ('"5"" disk",1', ['5" disk', 1]),
    ('"a,b","1"', ["a,b", "1"]),
    ('"","NA"', ["", "NA"]),
    (",NA", [None, None]),
    ('"a"b,1', ["ab", 1]),
    ('"a\r\nb",1\r', ["a\r\nb", 1]),
    ("x,\x1a", ["x", "\x1a"]),
]


@pytest.mark.parametrize(("row", "cells"), QUOTES)
@pytest.mark.parametrize("piped", [False, True])
def test_quotes_as_in_other_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, cells: list[object], piped: bool
) -> None:
    text = f"a,b\n{row}\n"
    if piped:
        pipe(monkeypatch, [text.encode()])
        loaded = Loaded(Path("-"), input_format="csv")
    else:
        file = tmp_path / "a.csv"
        file.write_bytes(text.encode())
        loaded = Loaded(file)
    assert [list(r.values()) for r in loaded.rows] == [  # type: ignore[attr-defined]
        [json.loads(c) if c == "1" else c for c in cells]
    ]


def test_a_stray_quote_costs_no_memory(tmp_path: Path) -> None:
    rows = "".join(f"{n},x\n" for n in range(1_000_000))
    file = write(tmp_path, "a.csv", f'n,s\n0,5" disk\n{rows}')
    spec = LoadSpec(str(file), "t")
    with Input(spec) as source:
        first = next(_READERS["csv"](source, spec, Columns()))
    assert json.loads(first.values[0]) == {"n": 0, "s": '5" disk'}
    assert len(first.values) < 500_000, "more than a block of the file was one piece"


@pytest.mark.parametrize("kind", ["gz", "zip"])
def test_packed_csv(tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"a.csv.{kind}"
    if kind == "gz":
        file.write_bytes(gzip.compress(b"a\n1\n"))
    else:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a.csv", "a\n1\n")
    assert Loaded(file).rows == [{"a": 1}]


def test_keys_in_each_format(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "id,name\n7,x\n8,\n")
    name, number = KeyColumn("NAME"), KeyColumn.parse("id:bigint")
    assert Loaded(file, key=(name,)).keys == [b"x", None]
    assert Loaded(file, key=(KeyColumn("id"),)).keys == [b"7", b"8"]
    assert Loaded(file, key=(number,)).keys == [struct.pack(">q", 7), struct.pack(">q", 8)]
    both = (KeyColumn("id"), name)
    assert Loaded(file, key=both).keys[0] == b'{"id":7,"NAME":"x"}'
    assert Loaded(file, key=both, key_format="DELIMITED").keys == [b"7,x", b"8,"]
    with pytest.raises(ConfigError, match="a single column"):
        Loaded(file, key=both, key_format="KAFKA")


def test_delimited_values_leave_the_key_out(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", 'id,n,t\nk,1.50,"a,b"\nk,,"q""q"\n')
    loaded = Loaded(file, key=(KeyColumn("id"),), format="DELIMITED")
    assert loaded.values == [b'1.50,"a,b"', b',"q""q"']


@pytest.mark.parametrize(
    ("cell", "pattern", "moment"),
    [
        ("2024-02-29T10:00:00Z", None, datetime(2024, 2, 29, 10)),
        ("2024-02-29T12:00:00+02:00", None, datetime(2024, 2, 29, 10)),
        ("2024-02-29 10:00:00.123", None, datetime(2024, 2, 29, 10, 0, 0, 123000)),
        ("2024-02-29", None, datetime(2024, 2, 29)),
        ("1709200800000", None, datetime(2024, 2, 29, 10)),
        ("29/02/2024 10:00", "dd/MM/yyyy HH:mm", datetime(2024, 2, 29, 10)),
        (
            "2024-02-29T10:00:00.500Z",
            "yyyy-MM-dd'T'HH:mm:ss.SSSX",
            datetime(2024, 2, 29, 10, 0, 0, 500000),
        ),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_timestamps(
    tmp_path: Path, cell: str, pattern: str | None, moment: datetime, kind: str
) -> None:
    text = f"at,n\n{cell},1\n" if kind == "csv" else json.dumps({"at": cell, "n": 1})
    file = write(tmp_path, f"a.{kind}", text)
    loaded = Loaded(file, timestamp="AT", timestamp_format=pattern)
    assert loaded.times == [int(moment.replace(tzinfo=UTC).timestamp() * 1000)]


def test_rows_without_a_timestamp_are_left_out_and_counted(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "at,n\n2024-01-01,1\nNA,2\n2024-01-02,3\n")
    loaded = Loaded(file, timestamp="at", key=(KeyColumn("n"),))
    assert (loaded.keys, loaded.skipped) == ([b"1", b"3"], 1)


def test_wrong_timestamps_and_patterns_are_explained(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "at\nyesterday\n")
    with pytest.raises(ConfigError, match="'yesterday' is not a timestamp"):
        Loaded(file, timestamp="at")
    with pytest.raises(ConfigError, match="QQ is not understood"):
        timestamp_parser("yyyy-QQ")


def test_json_lines_go_through_unchanged(tmp_path: Path) -> None:
    lines = '{"a": 1.10, "b": {"c": [1]}}\n\n{"a": 2, "d": "x"}'
    loaded = Loaded(write(tmp_path, "a.jsonl", lines), key=(KeyColumn("a"),))
    assert loaded.values == [b'{"a": 1.10, "b": {"c": [1]}}', b'{"a": 2, "d": "x"}']
    assert loaded.keys == [b"1.1", b"2"]
    assert loaded.types == {"a": "DOUBLE", "b": "STRUCT<C ARRAY<INT>>", "d": "STRING"}


def test_a_json_array_gives_its_elements(tmp_path: Path) -> None:
    loaded = Loaded(write(tmp_path, "a.json", '[\n {"a": 1.10},\n {"a": null}\n]\n'))
    assert loaded.values == [b'{"a": 1.10}', b'{"a": null}']


def test_text_gives_lines(tmp_path: Path) -> None:
    loaded = Loaded(write(tmp_path, "a.txt", 'one "two"\n\nthree\n'))
    assert loaded.rows == [{"line": 'one "two"'}, {"line": ""}, {"line": "three"}]


def test_parquet_types(tmp_path: Path) -> None:
    table = pa.table(
        {
            "i": pa.array([1, None], pa.int32()),
            "d": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
            "f": [float("nan"), 0.5],
            "t": pa.array([datetime(2024, 1, 1), None], pa.timestamp("us")),
            "day": pa.array([date(1970, 1, 11), None]),
            "s": ["x", None],
            "l": [[1, 2], None],
            "b": pa.array([b"\x00\x01", None]),
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    loaded = Loaded(tmp_path / "a.parquet", timestamp="t")
    assert loaded.values == [
        b'{"i":1,"d":1.50,"f":null,"t":1704067200000,"day":10,"s":"x","l":[1, 2],"b":"AAE="}'
    ]
    assert loaded.times == [1704067200000]
    assert loaded.types == {
        "i": "INT",
        "d": "DECIMAL(5, 2)",
        "f": "DOUBLE",
        "t": "TIMESTAMP",
        "day": "DATE",
        "s": "STRING",
        "l": "ARRAY<BIGINT>",
        "b": "BYTES",
    }


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.csv", "a,b\n1,2\n3\n", {}, "row 3 has 1 columns instead of 2"),
        ("a.csv", 'a,b\n1,2\n1,"x\n2,y\n', {}, "the quoted text in row 3 is never closed"),
        ("a.csv", 'a,b\n1,2\n"1,x\n2,y\n', {}, "the quoted text in row 3 is never closed"),
        ("a.csv", 'a\n1\n"', {}, "the quoted text in row 3 is never closed"),
        ("a.csv", 'a,b\n1,"x\n' + "2,y\n" * 700_000, {}, "row 2 is longer than 1 MiB"),
        ("a.csv", "a,a\n1,2\n", {}, "does not name the columns"),
        ("a.csv", "a\n1\n", {"timestamp": "b"}, "has no column b"),
        ("a.csv", "a\n1\n", {"key": (KeyColumn("x"),)}, "has no column x"),
        ("a.json", '{"a": 1}\n{"a": \n', {}, "line 2 is not JSON"),
        ("a.json", "1\n", {}, "line 1 is not a JSON object"),
        ("a.xyz", "", {}, "the format of .* is not known"),
        ("a.csv", "id\nx\n", {"key": (KeyColumn("id", "INT"),)}, "'x' is not of type INT"),
        ("a.parquet", "nonsense", {}, "cannot read"),
    ],
)
def test_unreadable_input_says_where(
    tmp_path: Path, name: str, text: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises((ConfigError, ExternalError), match=message):
        Loaded(write(tmp_path, name, text), **options)


def test_a_row_that_is_no_text_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    rows = b"".join(b"%d,x\n" % n for n in range(300_000))
    file.write_bytes(b"n,s\n" + rows + b"0,\xff\n")
    with pytest.raises(ExternalError, match="row 300002 is not UTF-8 text") as caught:
        Loaded(file)
    assert "UTF-8" in (caught.value.hint or "")


def pipe(monkeypatch: pytest.MonkeyPatch, pieces: list[bytes]) -> None:
    """Standard input that gives these pieces, one at a time."""

    class Pipe(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
            piece = pieces.pop(0) if pieces else b""
            buffer[: len(piece)] = piece
            return len(piece)

    class Stdin:
        buffer = io.BufferedReader(Pipe())  # type: ignore[type-var]

    monkeypatch.setattr("sys.stdin", Stdin())


def test_a_slow_pipe_is_not_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe(monkeypatch, [b'{"a":1}\n', b'{"a":', b"2}\n"])
    blocks = line_blocks(Input(LoadSpec("-", "t")))
    assert list(blocks) == [b'{"a":1}\n', b'{"a":2}\n']


def test_a_slow_pipe_of_csv_is_not_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [b"a,b\n", b"1,x\n", b'2,"5"" y\n', b'z"\n3,5" disk\n4', b",w\n5,v"]
    pipe(monkeypatch, pieces)
    spec = LoadSpec("-", "t")
    seen = []
    for chunk in csv_chunks(Input(spec), spec, Columns()):
        seen.append(([json.loads(value)["a"] for value in chunk.values], len(pieces)))
    assert seen == [([1], 3), ([2, 3], 1), ([4], 0), ([5], 0)]


def test_a_quote_that_a_pipe_never_closes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe(monkeypatch, [b"a,b\n1,x\n", b'2,"y\n', *[b"3,z\n" * 1000] * 700])
    with pytest.raises(ExternalError, match="row 3 is longer than 1 MiB"):
        Loaded(Path("-"), input_format="csv")


def test_the_suggested_stream_can_be_created() -> None:
    columns = {"a": "INT", "Group": "ARRAY<STRING>", "x y": "STRUCT<C INT>", "k": "STRING"}
    sql = create_stream(columns, "my-topic", "JSON", {"k": "BIGINT"}, "KAFKA")
    assert sql.splitlines() == [
        "CREATE STREAM `my-topic` (",
        "  k BIGINT KEY,",
        "  a INT,",
        "  `Group` ARRAY<STRING>,",
        "  `x y` STRUCT<C INT>",
        ") WITH (KAFKA_TOPIC = 'my-topic', VALUE_FORMAT = 'JSON');",
    ]
    parse_one(sql)
