"""JSON nested beyond reason is refused before it is parsed, at no great cost."""

from __future__ import annotations

import json
import time

import pytest

from streamsql.server.http.errors import RequestError
from streamsql.server.http.requests import MAX_DEPTH, parse_json


@pytest.mark.parametrize(
    ("opening", "closing", "depth"), [("[", "]", 1), ('{"a":', "}", 1), ('[{"a":', "}]", 2)]
)
def test_depth_is_counted_in_arrays_and_objects(opening: str, closing: str, depth: int) -> None:
    levels = MAX_DEPTH // depth
    fine = opening * levels + "1" + closing * levels
    assert parse_json(fine) == json.loads(fine)
    with pytest.raises(RequestError, match="nested too deeply"):
        parse_json(f"[{fine}]".encode())


def test_what_is_not_closed_is_too_deep_too() -> None:
    with pytest.raises(RequestError, match="nested too deeply"):
        parse_json("[" * 100_000)
    with pytest.raises(RequestError, match="is not JSON"):
        parse_json("]" * 1000 + "[" * 50)


def test_brackets_in_texts_count_for_nothing() -> None:
    text = r"\"" + "[" * 1000 + "\\\\"
    assert parse_json(f'["{text}", []]') == ['"' + "[" * 1000 + "\\", []]


def test_a_large_request_does_not_hold_up_the_others() -> None:
    text = json.dumps([["x" * 20, {"n": 1}]] * 100_000)
    began = time.process_time()
    json.loads(text)
    parsed = time.process_time() - began
    began = time.process_time()
    parse_json(text)
    assert time.process_time() - began < 3 * parsed + 0.05
