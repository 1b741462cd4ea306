"""COPY's formats: what is written is read again, in whatever pieces it comes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamsql.postgres.copy_forms import Cells, CopyForm, CopyReader
from streamsql.postgres.errors import PgError

CELL = st.none() | st.binary(max_size=8).filter(lambda cell: cell != b"\\.")
ROWS = st.lists(st.lists(CELL, min_size=2, max_size=2), max_size=5)
FORMS = [{"format": "text"}, {"format": "csv"}, {"format": "binary"}]


@pytest.mark.parametrize("options", FORMS, ids=[form["format"] for form in FORMS])
@given(rows=ROWS, size=st.integers(1, 9))
def test_rows_come_back(options: dict[str, str], rows: list[Cells], size: int) -> None:
    form = CopyForm.of(options)
    data = form.head([]) + b"".join(map(form.line, rows)) + form.end
    reader = CopyReader(form, 1000)
    found = [row for at in range(0, len(data), size) for row in reader.feed(data[at : at + size])]
    assert [*found, *reader.feed(b"", last=True)] == rows


@pytest.mark.parametrize("options", FORMS, ids=[form["format"] for form in FORMS])
@given(data=st.binary(max_size=60))
def test_any_bytes_are_rows_or_refused(options: dict[str, str], data: bytes) -> None:
    reader = CopyReader(CopyForm.of(options), 1000)
    try:
        list(reader.feed(data, last=True))
    except PgError:
        pass


def test_what_people_write() -> None:
    text = CopyReader(CopyForm.of({}), 100)
    data = b"a\tb\\tc\r\n\\N\t\\x41\\101\n\\.\nrest"
    assert list(text.feed(data, last=True)) == [[b"a", b"b\tc"], [None, b"AA"]]
    csv = CopyReader(CopyForm.of({"format": "csv", "header": "true", "null": "-"}), 100)
    data = b'x,y\r\n"a ""b"", c",-\n"two\nlines","-"\n'
    assert list(csv.feed(data, last=True)) == [[b'a "b", c', None], [b"two\nlines", b"-"]]
    assert csv.lines == 3


@pytest.mark.parametrize(
    "options",
    [
        {"format": "json"},
        {"encoding": "latin1"},
        {"delimiter": "ab"},
        {"format": "csv", "quote": ""},
    ],
)
def test_options_that_make_no_sense(options: dict[str, str]) -> None:
    with pytest.raises(PgError):
        CopyForm.of(options)


def test_a_row_without_an_end_is_bounded() -> None:
    reader = CopyReader(CopyForm.of({}), 10)
    with pytest.raises(PgError, match="more than 10 bytes"):
        list(reader.feed(b"x" * 11))
