"""Tables, JSON and CSV: what is printed for which values, and that it fits the terminal."""

from __future__ import annotations

import io
from datetime import date, datetime, time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from streamsql.cli.terminal.render import Renderer
from streamsql.cli.terminal.style import Style
from streamsql.cli.terminal.table import complete_table
from streamsql.cli.terminal.values import row_to_json
from streamsql.results import Field, Row, Rows, Value
from streamsql.types import BIGINT, STRING, TIMESTAMP, decimal

PLAIN = Style()


def rendered(output: str, width: int = 60) -> tuple[Renderer, io.StringIO]:
    screen = io.StringIO()
    return Renderer(output, screen, screen, style=PLAIN, width=width), screen


def test_numbers_stand_at_the_right_and_text_at_the_left() -> None:
    fields = (Field("NAME", STRING), Field("COUNT", BIGINT))
    assert complete_table(fields, [("a", 1), (None, 12345)], 40, PLAIN) == [
        " NAME │ COUNT",
        "──────┼──────",
        " a    │     1",
        " null │ 12345",
    ]


def test_long_cells_are_wrapped_at_words() -> None:
    fields = (Field("N", BIGINT), Field("TEXT", STRING))
    lines = complete_table(fields, [(1, "one two three four five six")], 20, PLAIN)
    assert lines[2:] == [" 1 │ one two three", "   │ four five six"]


def test_too_many_columns_become_lines() -> None:
    fields = tuple(Field(f"COLUMN_{i}") for i in range(20))
    lines = complete_table(fields, [tuple(range(20))], 60, PLAIN)
    assert lines[1] == " COLUMN_0  │ 0"
    assert len(lines) == 21


@given(
    st.lists(
        st.tuples(st.text(max_size=100), st.integers(), st.lists(st.text(max_size=30))),
        max_size=4,
    ),
    st.integers(40, 200),
)
def test_no_line_is_wider_than_the_terminal(rows: list[tuple[Value, ...]], width: int) -> None:
    fields = (Field("A", STRING), Field("B", BIGINT), Field("C"))
    for line in complete_table(fields, rows, width, PLAIN):
        assert cell_len(line) <= width
        assert line.isprintable()


def test_escape_sequences_of_data_do_not_reach_the_terminal() -> None:
    lines = complete_table((Field("A"),), [("\x1b[31mred\nnew",)], 40, PLAIN)
    assert lines[2] == " \\x1b[31mred\\nnew"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (12345678901234567890, "12345678901234567890"),
        (1e20, "1e+20"),
        (float("nan"), '"NaN"'),
        (Decimal("1.50"), "1.50"),
        (Decimal("1E+3"), "1000"),
        (b"\x00\x01", '"AAE="'),
        (date(2024, 2, 29), '"2024-02-29"'),
        (time(10, 5), '"10:05:00"'),
        (datetime(2024, 2, 29, 1, 2, 3, 4000), '"2024-02-29T01:02:03.004"'),
        ([1, None, "x"], '[1,null,"x"]'),
        ({"a": Decimal("2.10"), "b": [True]}, '{"a":2.10,"b":[true]}'),
        ('quote " and \n', '"quote \\" and \\n"'),
    ],
)
def test_json_keeps_what_a_value_is(value: Value, text: str) -> None:
    assert row_to_json((Field("C"),), (value,)) == f'{{"C":{text}}}'


def test_csv_has_a_header_and_quotes_where_needed() -> None:
    renderer, screen = rendered("csv")
    fields = (Field("A", STRING), Field("B", decimal(5, 2)), Field("C"))
    renderer.show(Rows(fields, [('x,"y"', Decimal("1.10"), {"k": 1}), (None, None, [])]))
    assert screen.getvalue() == 'A,B,C\n"x,""y""",1.10,"{""k"":1}"\n,,[]\n'


def test_live_rows_keep_their_columns_and_never_cut_a_number() -> None:
    renderer, screen = rendered("table", width=44)
    fields = (Field("NAME", STRING), Field("N", BIGINT), Field("AT", TIMESTAMP))
    writer = renderer.rows(fields)
    writer.write([Row(("a very long name indeed", 10**18, datetime(2024, 1, 1)))])
    writer.write([Row(("b", None, None), tombstone=True)])
    header, rule, first, second = screen.getvalue().splitlines()
    assert "…" in first and str(10**18) in first
    assert "<TOMBST" in second
    assert cell_len(header.rstrip()) <= 44 and cell_len(rule) <= 44


def test_the_header_comes_again_after_a_screen_of_rows() -> None:
    renderer, screen = rendered("table")
    writer = renderer.rows((Field("N", BIGINT),))
    writer.write([Row((n,)) for n in range(100)])
    headers = [line for line in screen.getvalue().splitlines() if line.strip() == "N"]
    assert len(headers) > 2
    assert writer.count == 100
